import type { Derivation } from "./manifest.ts";

/** What is asked for: a model that lies here, in another form. */
export interface ConversionRequest {
  /** Name the original is offered under. */
  readonly model: string;
  /** The form, for example `q8_0`. */
  readonly to: string;
  /** Name of what is made; made from the original's where it is absent. */
  readonly name?: string;
}

/** How far a conversion is. */
export interface ConversionView {
  /** `waiting` another one comes first, `digesting` the original has no root yet. */
  readonly stage: "waiting" | "digesting" | "converting" | "publishing";
  /** Of what is made. */
  readonly doneBytes: number;
  /** 0 until it is known. */
  readonly totalBytes: number;
  /** Null until some of it is made. */
  readonly bytesPerSecond: number | null;
  /** Null until some of it is made. */
  readonly remainingMs: number | null;
}

/** What a conversion came to. */
export interface ConversionOutcome {
  /** Name it is offered under. */
  readonly model: string;
  /** Size of what was made. */
  readonly sizeBytes: number;
  /** Size of what it was made of. */
  readonly originalBytes: number;
  /** How it was made, for whoever wants to make it too. */
  readonly derivation: Derivation;
}

/** Making models that take less room of those that lie here. */
export interface ModelConversions {
  /**
   * Make a model of another one, which stays. It is offered once it is whole.
   *
   * @param request What to make of which.
   * @param tell Called with how far it is.
   * @param signal Aborting it ends the work and removes what came of it.
   * @throws {Fault} When it can not be made.
   */
  convert(
    request: ConversionRequest,
    tell: (view: ConversionView) => void,
    signal: AbortSignal,
  ): Promise<ConversionOutcome>;
}

/** A derived file that can be made here, range by range, instead of being fetched. */
export interface MadeWeights extends Disposable {
  /** Name of the original here. */
  readonly original: string;
  /** Size of the derived file. */
  readonly sizeBytes: number;
  /**
   * Make a range of it.
   *
   * @param offset Where the range begins, in bytes.
   * @param room Its length is the range's.
   * @returns How many bytes there were; fewer than fit only at the end.
   * @throws {Error} When the original can not be read or is not what it was.
   */
  readInto(offset: number, room: Uint8Array<ArrayBuffer>): Promise<number>;
}
