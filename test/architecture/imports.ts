/** One use of another module by a file. */
export interface ImportUse {
  /** What stands in the import, or null where it is computed. */
  readonly specifier: string | null;
  /** Whether nothing of it is left once types are erased. */
  readonly typeOnly: boolean;
}

/**
 * List what a source file imports: statically, dynamically, by re-export and
 * in types. The runtime's own parser does it, so that comments and strings
 * that look like imports count for nothing.
 *
 * @param path Name for messages.
 * @param source TypeScript.
 */
export function listImports(path: string, source: string): ImportUse[] {
  const uses: ImportUse[] = [];
  const rule: Deno.lint.Rule = {
    create: (context) => ({
      ImportDeclaration(node) {
        const names = node.specifiers;
        const typeOnly = node.importKind === "type" ||
          (names.length > 0 &&
            names.every((name) =>
              name.type === "ImportSpecifier" && name.importKind === "type"
            ));
        uses.push({ specifier: node.source.value, typeOnly });
      },
      ExportAllDeclaration(node) {
        const typeOnly = node.exportKind === "type";
        uses.push({ specifier: node.source.value, typeOnly });
      },
      ExportNamedDeclaration(node) {
        if (node.source === null) return;
        const names = node.specifiers;
        const typeOnly = node.exportKind === "type" ||
          (names.length > 0 &&
            names.every((name) => name.exportKind === "type"));
        uses.push({ specifier: node.source.value, typeOnly });
      },
      ImportExpression(node) {
        const { source } = node;
        const literal = source.type === "Literal" &&
            typeof source.value === "string"
          ? source.value
          : null;
        uses.push({ specifier: literal, typeOnly: false });
      },
      TSImportType(node) {
        const text = context.sourceCode.getText(node);
        const found = /^import\(\s*["'`]([^"'`]+)/.exec(text)?.[1];
        uses.push({ specifier: found ?? null, typeOnly: true });
      },
    }),
  };
  Deno.lint.runPlugin(
    { name: "architecture", rules: { imports: rule } },
    path,
    source,
  );
  return uses;
}
