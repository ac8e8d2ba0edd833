import { BulkSource, type BulkSourceOptions } from "./bulk_source.ts";
import { formatModelPath } from "./model_path.ts";

/** What a member's source needs. */
export interface MemberSourceOptions extends Omit<BulkSourceOptions, "pathOf"> {
  readonly root: string;
}

/** A member as a source of one model's chunks. */
export class MemberSource extends BulkSource {
  constructor({ root, ...options }: MemberSourceOptions) {
    super({
      ...options,
      pathOf: (file) => formatModelPath({ kind: "file", root, file }),
    });
  }
}
