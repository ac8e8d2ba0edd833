/** What an engine process says of the cards that it computes on. */
export interface CardReport {
  /** By what it reaches them, for example `cuda`. */
  readonly gpu: string;
  /** Layers of its model that lie there. */
  readonly layers: number;
  /** Memory of the cards that it holds, in bytes. */
  readonly usedBytes: number;
  /** All memory of the cards. */
  readonly totalBytes: number;
  /** The part of it that nobody held once the model was loaded, as far as the driver tells. */
  readonly freeBytes: number;
  /** Whether that memory is the machine's own. */
  readonly isShared: boolean;
}
