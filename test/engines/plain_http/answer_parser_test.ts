import assert from "node:assert/strict";
import fc from "fast-check";
import { AnswerParser } from "../../../src/engines/plain_http/answer_parser.ts";
import { keepsAlive } from "../../../src/engines/plain_http/body_framing.ts";
import { MalformedAnswerError } from "../../../src/engines/plain_http/malformed_answer.ts";

const encoder = new TextEncoder();

interface Read {
  readonly status: number;
  readonly type: string | null;
  readonly body: readonly number[];
  readonly isClean: boolean;
}

/** Read an answer that comes in pieces, up to the connection's end. */
function readAll(pieces: readonly Uint8Array[]): Read {
  const parser = new AnswerParser();
  const body: number[] = [];
  for (const piece of pieces) {
    // What was pushed may change afterwards: the parser must have its own.
    const room = piece.slice();
    const part = parser.push(room);
    room.fill(0);
    body.push(...part);
  }
  const { isClean } = parser;
  parser.end();
  const { head } = parser;
  assert(head !== null && parser.isOver);
  return {
    status: head.status,
    type: head.fields.get("Content-Type"),
    body,
    isClean,
  };
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = at.map((place) => place % (bytes.length + 1));
  const edges = [0, ...places, bytes.length].toSorted((a, b) => a - b);
  return edges.slice(1).map((end, n) => bytes.subarray(edges[n], end));
}

function concat(parts: readonly (string | Uint8Array)[]): Uint8Array {
  return Uint8Array.from(
    parts.flatMap((part) => [
      ...typeof part === "string" ? encoder.encode(part) : part,
    ]),
  );
}

const body = fc.uint8Array({ maxLength: 300 });
const lineEnd = fc.constantFrom("\r\n", "\n");
const interim = fc.constantFrom(
  "",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
);
const framed = fc.oneof(
  fc.record({ kind: fc.constant("length" as const), body }),
  fc.record({ kind: fc.constant("until_close" as const), body }),
  fc.record({
    kind: fc.constant("chunked" as const),
    chunks: fc.array(fc.uint8Array({ minLength: 1, maxLength: 90 }), {
      maxLength: 6,
    }),
    extension: fc.constantFrom("", ";a=b", " ; name"),
    trailer: fc.constantFrom("", "x-sum: 1\r\n", "a: b\r\nc: d\r\n"),
    big: fc.boolean(),
  }),
);

Deno.test("AnswerParser reads the same answer however its bytes are cut", () => {
  fc.assert(fc.property(
    framed,
    interim,
    lineEnd,
    fc.integer({ min: 200, max: 599 }).filter((status) =>
      status !== 204 && status !== 304
    ),
    fc.array(fc.nat(4000), { maxLength: 12 }),
    (answer, before, end, status, places) => {
      const head = (field: string) =>
        [`HTTP/1.1 ${status} Whatever`, "content-type: a/b", field, "", ""]
          .join(end).replace(end + end + end, end + end);
      const { parts, whole } = answer.kind === "chunked"
        ? {
          parts: [
            head("Transfer-Encoding: Chunked"),
            ...answer.chunks.flatMap((chunk) => {
              const hex = chunk.length.toString(16);
              return [
                `${
                  answer.big ? hex.toUpperCase() : hex
                }${answer.extension}\r\n`,
                chunk,
                "\r\n",
              ];
            }),
            `0\r\n${answer.trailer}\r\n`,
          ],
          whole: concat(answer.chunks),
        }
        : {
          parts: [
            answer.kind === "length"
              ? head(`Content-Length:${answer.body.length}`)
              : head("server: x"),
            answer.body,
          ],
          whole: answer.body,
        };
      const bytes = concat([before, ...parts]);
      const expected = {
        status,
        type: "a/b",
        body: [...whole],
        isClean: answer.kind !== "until_close",
      };
      assert.deepEqual(readAll([bytes]), expected);
      assert.deepEqual(readAll(cut(bytes, places)), expected);
      assert.deepEqual(
        readAll(Array.from(bytes, (byte) => Uint8Array.of(byte))),
        expected,
      );
    },
  ));
});

Deno.test("AnswerParser refuses strange bytes in its own words alone, and reads all or nothing of them", () => {
  const pieces = fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 \r\n\r\n",
        "content-length: 3\r\n",
        "transfer-encoding: chunked\r\n",
        "\r\n",
        "\n",
        "3\r\nabc\r\n",
        "0\r\n\r\n",
        "fffffffffffff\r\n",
        ": \r\n",
      ).map((text) => encoder.encode(text)),
    ),
    { maxLength: 12 },
  );
  fc.assert(fc.property(pieces, (bytes) => {
    const outcome = (cuts: readonly Uint8Array[]) => {
      try {
        return readAll(cuts);
      } catch (error) {
        if (!(error instanceof MalformedAnswerError)) throw error;
        return error.message;
      }
    };
    const whole = concat(bytes);
    const one = outcome([whole]);
    const other = outcome(Array.from(whole, (byte) => Uint8Array.of(byte)));
    assert.equal(typeof other, typeof one);
    if (typeof one !== "string") assert.deepEqual(other, one);
  }));
});

Deno.test("AnswerParser gives no body to 204 and 304, whatever their fields say", () => {
  for (const status of [204, 304]) {
    const parser = new AnswerParser();
    parser.push(
      encoder.encode(`HTTP/1.1 ${status} x\r\ncontent-length: 5\r\n\r\n`),
    );
    assert(parser.isOver && parser.isClean);
  }
});

Deno.test("AnswerParser calls a connection unclean that has more than its answer", () => {
  for (
    const text of [
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nH",
      "HTTP/1.1 204 x\r\n\r\nH",
    ]
  ) {
    for (const pieces of [[text], [...text]]) {
      const parser = new AnswerParser();
      for (const piece of pieces) parser.push(encoder.encode(piece));
      assert(parser.isOver && !parser.isClean, text);
    }
  }
});

Deno.test("AnswerParser names what is wrong with an answer", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /ended before an answer began/],
    ["HTTP/1.1 200 OK\r\nconte", /ended in an answer's head: "HTTP\/1.1 200/],
    ["SSH-2.0-OpenSSH_9\r\n\r\n", /begins with "SSH-2.0-OpenSSH_9"/],
    ["\x15\x03\x01\x00\x02\x02\n\n", /begins with "\?\?\?\?\?\?"/],
    ["HTTP/2 200\r\n\r\n", /begins with "HTTP\/2 200"/],
    ["HTTP/1.1 099 x\r\n\r\n", /begins with/],
    ["HTTP/1.1 2000 x\r\n\r\n", /begins with/],
    ["HTTP/1.1 101 Switching\r\n\r\n", /another protocol/],
    ["HTTP/1.1 100 C\r\n\r\n".repeat(17), /More than 16 heads/],
    [`${ok}no colon\r\n\r\n`, /field can be read in "no colon"/],
    [`${ok}a: b\r\n folded\r\n\r\n`, /field can be read in " folded"/],
    [`${ok}a : b\r\n\r\n`, /field can be read/],
    [`${ok}: b\r\n\r\n`, /field can be read/],
    [`${ok}a: b\x00c\r\n\r\n`, /field can be read/],
    [`${ok}a: b\rc: d\r\n\r\n`, /field can be read/],
    [`${ok}content-length: -1\r\n\r\n`, /says that it has "-1" bytes/],
    [`${ok}content-length: 0x10\r\n\r\n`, /says that it has/],
    [`${ok}content-length: 9999999999999999\r\n\r\n`, /says that it has/],
    [
      `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`,
      /says that it has "1, 2" bytes/,
    ],
    [
      `${ok}transfer-encoding: gzip, chunked\r\n\r\n`,
      /sent as "gzip, chunked"/,
    ],
    [`${ok}content-length: 4\r\n\r\nabc`, /ended 1 bytes before/],
    [`${chunked}3\r\nabc\r\n`, /ended between the chunks/],
    [`${chunked}3\r\nabcd\r\n`, /longer than it says/],
    [`${chunked}-3\r\nabc\r\n`, /has the size "-3"/],
    [`${chunked}0x3\r\nabc\r\n`, /has the size "0x3"/],
    [`${chunked}\r\n`, /has the size ""/],
    [`${chunked}1000000000000\r\n`, /has the size "1000000000000"/],
  ];
  for (const [text, message] of cases) {
    assert.throws(
      () => readAll([Uint8Array.from(text, (one) => one.charCodeAt(0))]),
      (error) => {
        assert(error instanceof MalformedAnswerError);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});

Deno.test("AnswerParser ends what has no end: heads, fields, blank lines, chunk lines, trailers", () => {
  const ok = "HTTP/1.1 200 OK\r\n";
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
  for (
    const [first, again] of [
      ["", "x"],
      ["", "\r\n"],
      [ok, "a: b\r\n"],
      [`${ok}a: `, "b"],
      [`${ok}a: `, "b".repeat(1000)],
      ["", "HTTP/1.1 100 Continue\r\n\r\n"],
      [chunked, "1"],
      [`${chunked}1;`, "x"],
      [`${chunked}0\r\n`, "a: b\r\n"],
      [`${chunked}0\r\n`, "x"],
    ] as const
  ) {
    const parser = new AnswerParser();
    const piece = encoder.encode(again);
    let bytes = 0;
    assert.throws(() => {
      parser.push(encoder.encode(first));
      while (bytes < 200_000) {
        parser.push(piece);
        bytes += piece.length;
      }
    }, MalformedAnswerError);
    if (again === "a: b\r\n" && first === ok) assert(bytes <= 65_536);
  }
  const many = `${ok}${"a: b\r\n".repeat(257)}\r\n`;
  assert.throws(() => readAll([encoder.encode(many)]), /257 header fields/);
});

Deno.test("AnswerParser takes a length that is said twice alike, bytes beyond ASCII, and HTTP/1.0", () => {
  const text =
    "HTTP/1.0 200\r\ncontent-length: 1, 1\r\ncontent-length: 1\r\ncontent-type: t\xe9\r\n\r\nx";
  const read = readAll([Uint8Array.from(text, (one) => one.charCodeAt(0))]);
  assert.equal(read.type, "t\xe9");
  assert.deepEqual(read.body, [0x78]);
});

Deno.test("keepsAlive asks no more of a connection whose server ends it, or is unclear about the end", () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ["HTTP/1.1 200 OK\r\ncontent-length: 0", true],
    ["HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0", true],
    ["HTTP/1.1 200 OK\r\nConnection: x, Close\r\ncontent-length: 0", false],
    ["HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0", false],
    [
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked",
      false,
    ],
  ];
  for (const [head, expected] of cases) {
    const parser = new AnswerParser();
    parser.push(encoder.encode(`${head}\r\n\r\n`));
    assert(parser.head !== null);
    assert.equal(keepsAlive(parser.head), expected, head);
  }
});
