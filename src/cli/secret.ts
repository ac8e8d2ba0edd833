import { readArguments } from "./arguments.ts";
import { sayUsage } from "./ask.ts";
import { type Command, DONE } from "./command.ts";

/** Crockford's base 32: nothing in it is taken for something else when read aloud. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH = 32;

/** `covey secret`: 160 bits in 32 characters. */
export const secretCommand: Command = {
  name: "secret",
  summary: "Make a strong cluster secret",
  usage: "[--json]",
  help: () =>
    "Set it as COVEY_CLUSTER_SECRET (or in a file that COVEY_CLUSTER_SECRET_FILE\nnames) on every machine that is to be a member. It is stored nowhere.",
  // deno-lint-ignore require-await -- every command is asynchronous to its caller
  async run(args, context) {
    const given = readArguments(args);
    if (given.kind === "wrong") {
      return sayUsage(given.message, "secret [--json]", context);
    }
    // 256 is a multiple of 32, so that five bits of a byte are evenly spread.
    const secret = Array.from(
      context.entropy.bytes(LENGTH),
      (byte) => ALPHABET.charAt(byte % ALPHABET.length),
    ).join("");
    context.stdout(given.json ? JSON.stringify({ secret }) : secret);
    return DONE;
  },
};
