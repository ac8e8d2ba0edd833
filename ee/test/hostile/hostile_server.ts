import { createSystemClock } from "@covey/core/platform";
import { QuietLog } from "../../../test/fakes/quiet_log.ts";
import type { NodeIdentity } from "../../src/identity/node_identity.ts";
import {
  LinkServer,
  type LinkServerOptions,
} from "../../src/link/link_server.ts";

/**
 * Listen as somebody who answers what he likes. Everything else is let pass
 * and does nothing.
 *
 * @param identity Who listens.
 * @param options What he does.
 */
export function listenAs(
  identity: NodeIdentity,
  options: Partial<LinkServerOptions>,
): Promise<LinkServer> {
  return LinkServer.open({
    host: "127.0.0.1",
    port: 0,
    credentials: identity,
    clock: createSystemClock(),
    log: new QuietLog(),
    member: () => undefined,
    admission: {
      bodyLimitBytes: () => 2 ** 20,
      receive: () => Promise.resolve(new Uint8Array()),
    },
    status: () => new Uint8Array(),
    tell: () => () => {},
    callBack: () => Promise.resolve(new Uint8Array()),
    serve: () => Promise.reject(new Error("Not expected")),
    ...options,
  });
}
