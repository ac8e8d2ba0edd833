import type { CallForm } from "./call_form.ts";

/** What a reader found in the model's text. */
export type CallPart =
  | { readonly kind: "content"; readonly text: string }
  | { readonly kind: "begin"; readonly index: number; readonly name: string }
  | {
    readonly kind: "arguments";
    readonly index: number;
    readonly text: string;
  }
  /** The arguments are complete. */
  | { readonly kind: "end"; readonly index: number };

type ReaderState =
  /** Nothing but content so far. */
  | { readonly state: "content" }
  /** Content to the end. */
  | { readonly state: "text" }
  | { readonly state: "name" }
  | { readonly state: "arguments" }
  | { readonly state: "after" }
  | { readonly state: "done" };

/**
 * Tells tool calls from plain text as the text arrives. Spaces and line breaks
 * at the seams of the form may differ; text in which a call is broken off
 * where it can not be one is content after all.
 */
export class CallReader {
  readonly #form: CallForm;
  readonly #names: ReadonlySet<string>;
  #state: ReaderState = { state: "content" };
  /** Text not yet decided about. */
  #held = "";
  /** The last call begun, -1 for none. */
  #index = -1;
  #scan = new JsonScan();

  /**
   * @param form How calls are written.
   * @param names Functions that may be called.
   */
  constructor(form: CallForm, names: readonly string[]) {
    this.#form = form;
    this.#names = new Set(names);
  }

  /** Whether a call has been begun. */
  get calling(): boolean {
    return this.#index >= 0;
  }

  /**
   * Put text in.
   *
   * @param text The next piece.
   * @returns What is certain by now.
   */
  push(text: string): readonly CallPart[] {
    this.#held += text;
    const parts: CallPart[] = [];
    while (this.#step(parts));
    return parts;
  }

  /**
   * End the text.
   *
   * @returns What was held back, as content unless a call stands before it.
   */
  flush(): readonly CallPart[] {
    const rest = this.#held;
    this.#held = "";
    if (rest === "" || this.#index >= 0) return [];
    return [{ kind: "content", text: rest }];
  }

  /** Do one thing; false when more text is needed. */
  #step(parts: CallPart[]): boolean {
    switch (this.#state.state) {
      case "content":
        return this.#readContent(parts);
      case "name":
        return this.#readName(parts);
      case "arguments":
        return this.#readArguments(parts);
      case "after":
        return this.#readAfter();
      case "text":
        this.#emitContent(parts, this.#held.length);
        return false;
      case "done":
        this.#held = "";
        return false;
      default: {
        const never: never = this.#state;
        return never;
      }
    }
  }

  #readContent(parts: CallPart[]): boolean {
    const { marker, open, anchored } = this.#form;
    const at = this.#held.indexOf(marker);
    if (anchored && !mayBegin(this.#held, marker)) {
      this.#emitContent(parts, this.#held.length);
      this.#state = { state: "text" };
      return false;
    }
    if (at < 0) {
      // White space before a call is no content, so it waits too.
      const kept = heldBefore(this.#held, marker);
      this.#emitContent(parts, this.#held.length - kept);
      return false;
    }
    const rest = this.#held.slice(at);
    const opened = matchLoosely(rest, open);
    if (opened === "more") {
      this.#emitContent(parts, this.#held.slice(0, at).trimEnd().length);
      return false;
    }
    if (opened === "no") {
      this.#emitContent(parts, at + marker.length);
      return true;
    }
    const before = this.#held.slice(0, at).trimEnd();
    if (before !== "") parts.push({ kind: "content", text: before });
    this.#held = rest.slice(opened);
    this.#state = { state: "name" };
    return true;
  }

  #emitContent(parts: CallPart[], length: number): void {
    if (length <= 0) return;
    parts.push({ kind: "content", text: this.#held.slice(0, length) });
    this.#held = this.#held.slice(length);
  }

  #readName(parts: CallPart[]): boolean {
    for (const name of this.#names) {
      if (!this.#held.startsWith(name)) continue;
      const matched = matchLoosely(
        this.#held.slice(name.length),
        this.#form.middle,
      );
      if (matched === "no") continue;
      if (matched === "more") return false;
      this.#held = this.#held.slice(name.length + matched);
      this.#index++;
      this.#scan = new JsonScan();
      parts.push({ kind: "begin", index: this.#index, name });
      this.#state = { state: "arguments" };
      return true;
    }
    const mayGrow = [...this.#names].some((name) =>
      name.startsWith(this.#held)
    );
    if (mayGrow) return false;
    // No function of that name: what stands here is text.
    if (this.#index < 0) {
      parts.push({ kind: "content", text: this.#form.open });
    }
    this.#state = this.#index < 0 ? { state: "content" } : { state: "done" };
    return true;
  }

  #readArguments(parts: CallPart[]): boolean {
    const length = this.#scan.push(this.#held);
    const text = this.#held.slice(0, length);
    if (text !== "") {
      parts.push({ kind: "arguments", index: this.#index, text });
    }
    this.#held = this.#held.slice(length);
    if (!this.#scan.complete) return false;
    parts.push({ kind: "end", index: this.#index });
    this.#state = { state: "after" };
    return true;
  }

  #readAfter(): boolean {
    const matched = matchLoosely(this.#held, this.#form.between);
    if (matched === "more") return false;
    if (matched === "no") {
      this.#state = { state: "done" };
      return true;
    }
    this.#held = this.#held.slice(matched);
    this.#state = { state: "name" };
    return true;
  }
}

/**
 * Match text against a pattern whose white space may be left out or added.
 *
 * @returns Length of the match, `more` when text is missing, `no` when it differs.
 */
function matchLoosely(text: string, pattern: string): number | "more" | "no" {
  const isSpace = (letter: string | undefined) =>
    letter === " " || letter === "\n" || letter === "\t" || letter === "\r";
  let at = 0;
  for (const letter of pattern) {
    if (isSpace(letter)) continue;
    while (isSpace(text[at])) at++;
    if (at >= text.length) return "more";
    if (text[at] !== letter) return "no";
    at++;
  }
  // Space at the pattern's end belongs to it once something follows.
  if (!isSpace(pattern.at(-1))) return at;
  const start = at;
  while (isSpace(text[at])) at++;
  return at >= text.length && at === start ? "more" : at;
}

/** Whether a text begins, or may go on to begin, with the marker. */
function mayBegin(text: string, marker: string): boolean {
  const begun = text.trimStart();
  return begun.startsWith(marker) || marker.startsWith(begun);
}

/** Length of the end of the text that may yet turn out to be no content. */
function heldBefore(text: string, marker: string): number {
  for (
    let length = Math.min(marker.length - 1, text.length);
    length > 0;
    length--
  ) {
    if (marker.startsWith(text.slice(text.length - length))) {
      const before = text.slice(0, text.length - length);
      return text.length - before.trimEnd().length;
    }
  }
  return text.length - text.trimEnd().length;
}

/** Follows JSON text to the end of its first object. */
class JsonScan {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #complete = false;

  /** Whether the object has been closed. */
  get complete(): boolean {
    return this.#complete;
  }

  /**
   * @param text The next piece.
   * @returns How many of its characters belong to the object.
   */
  push(text: string): number {
    for (let at = 0; at < text.length; at++) {
      if (this.#complete) return at;
      this.#take(text[at] ?? "");
    }
    return text.length;
  }

  #take(letter: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (this.#inString) {
      if (letter === "\\") this.#escaped = true;
      else if (letter === '"') this.#inString = false;
    } else if (letter === '"') this.#inString = true;
    else if (letter === "{" || letter === "[") this.#depth++;
    else if (letter === "}" || letter === "]") {
      this.#depth--;
      this.#complete = this.#depth <= 0;
    }
  }
}
