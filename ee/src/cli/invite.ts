import { type Command, readFlags, sayUsage } from "@covey/core/cli";
import { escapeUnprintable, type JsonObject } from "@covey/core/domain";
import { askAction } from "./ask_action.ts";
import { formatLife, parseLife } from "./life.ts";

const USAGE = "[--code] [--ttl 10m] [--json]";

/** `covey invite`. */
export const inviteCommand: Command = {
  name: "invite",
  summary: "Let one machine into the cluster, by a token or an 8-digit code",
  usage: USAGE,
  help: () =>
    "The token or code lets one machine in, once, at this node alone. It ends\nafter 10 minutes or what --ttl says (90s, 10m, 2h), and when this node is\nrestarted. A new code takes the place of the one before; five wrong tries\nspend a code. A node without a cluster founds one by inviting.",
  run(args, context) {
    const given = readFlags(args, { switches: ["code"], values: ["ttl"] });
    const usage = (message: string) =>
      Promise.resolve(sayUsage(message, `invite ${USAGE}`, context));
    if (given.kind === "wrong") return usage(given.message);
    if (given.words.length > 0) return usage("It takes no words");
    const ttl = given.values.get("ttl");
    const ttlMs = ttl === undefined ? undefined : parseLife(ttl);
    if (ttl !== undefined && ttlMs === undefined) {
      return usage("--ttl takes a time such as 90s, 10m or 2h");
    }
    return askAction({
      method: "POST",
      path: "/cluster/invites",
      body: {
        code: given.switches.has("code"),
        ...(ttlMs === undefined ? {} : { ttlMs }),
      },
      json: given.json,
      show: formatInvitation,
    }, context);
  },
};

function formatInvitation(
  { addresses, code, token, ttlMs }: JsonObject,
): string | null {
  if (typeof ttlMs !== "number") return null;
  const life = `It lets one machine in, within ${formatLife(ttlMs)}.`;
  if (typeof token === "string") {
    return [
      escapeUnprintable(token),
      "",
      `${life} On that machine, where \`covey serve\` runs:`,
      "  covey join    and paste the token when asked",
    ].join("\n");
  }
  if (typeof code !== "string") return null;
  const [at = "HOST"] = Array.isArray(addresses)
    ? addresses.filter((one) => typeof one === "string")
    : [];
  return [
    escapeUnprintable(`${code.slice(0, 4)} ${code.slice(4)}`),
    "",
    `${life} On that machine, where \`covey serve\` runs:`,
    escapeUnprintable(`  covey join --code ${code} --at ${at}`),
  ].join("\n");
}
