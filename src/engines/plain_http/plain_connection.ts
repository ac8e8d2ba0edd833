import type { AnswerParser } from "./answer_parser.ts";
import type { Socket } from "./socket.ts";

/** Room of a read; an answer that fills it gets the larger one. */
const ROOM_BYTES = 16 * 1024;
const LARGE_ROOM_BYTES = 64 * 1024;
const NOTHING = new Uint8Array();

/** One connection to a server, at work or resting. */
export class PlainConnection {
  readonly #socket: Socket;
  readonly #onClosed: (connection: PlainConnection) => void;
  #room: Uint8Array = new Uint8Array(ROOM_BYTES);
  /** A read that was begun while it rested. */
  #begun: Promise<number | null> | null = null;
  #isResting = false;
  #isKept = false;
  #isClosed = false;

  /**
   * @param socket The connection, which is this one's from now on.
   * @param onClosed Called once, when nothing more can be asked for.
   */
  constructor(
    socket: Socket,
    onClosed: (connection: PlainConnection) => void,
  ) {
    this.#socket = socket;
    this.#onClosed = onClosed;
  }

  /** Whether it has rested since it was made. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /**
   * Read what comes next into a parser, the end of the connection included.
   *
   * @returns What came of the body; may be empty.
   * @throws {MalformedAnswerError} When what came is no whole answer.
   * @throws {Error} What the connection broke with.
   */
  async read(parser: AnswerParser): Promise<Uint8Array> {
    const reading = this.#begun ?? this.#socket.read(this.#room);
    this.#begun = null;
    const size = await reading;
    if (size === null) {
      parser.end();
      return NOTHING;
    }
    const piece = parser.push(this.#room.subarray(0, size));
    if (size === this.#room.length) {
      this.#room = new Uint8Array(LARGE_ROOM_BYTES);
    }
    return piece;
  }

  /**
   * Write all of it.
   *
   * @throws {Error} What the connection broke with.
   */
  async write(bytes: Uint8Array): Promise<void> {
    let at = await this.#socket.write(bytes);
    while (at < bytes.length) {
      at += await this.#socket.write(bytes.subarray(at));
    }
  }

  /**
   * Rest until it is asked again. What comes meanwhile answers nothing: the
   * connection is closed then, and mostly it is the server that closes it.
   */
  rest(): void {
    this.#isResting = true;
    this.#isKept = true;
    if (this.#room.length > ROOM_BYTES) this.#room = new Uint8Array(ROOM_BYTES);
    const stirred = () => {
      if (this.#isResting) this.close();
    };
    this.#begun = this.#socket.read(this.#room);
    this.#begun.then(stirred, stirred);
  }

  /** Have it at work again. */
  wake(): void {
    this.#isResting = false;
  }

  /** Close it, whatever it is at. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
    this.#onClosed(this);
  }
}
