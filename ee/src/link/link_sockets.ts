import { createServer } from "node:https";
import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import type { LinkAddress } from "./link_address.ts";

/** This node's own certificate and key, in PEM, and what they are shown over. */
export interface LinkCredentials {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  /** Where connections come from and go to; TLS over TCP unless said. */
  readonly sockets?: LinkSockets;
}

/** A connection of the link; says `secureConnect` once the other end has shown its certificate. */
export interface LinkSocket extends Duplex {
  /** What the other end showed, DER, and holds the key of; without `raw` when nothing. */
  getPeerCertificate(): { readonly raw?: Uint8Array } | undefined;
  setNoDelay(): unknown;
}

/** How a node is told to listen. */
export interface ListenSettings {
  /** Longest time from a request's first byte to its last, in milliseconds. */
  readonly requestLimitMs: number;
}

/** The network as the link sees it. A test LAN in memory puts another in its place. */
export interface LinkSockets {
  /** Begin a connection; what goes wrong is its `error`. */
  connect(address: LinkAddress, credentials: LinkCredentials): LinkSocket;
  /**
   * Make a server that does not listen yet. It says `connection` of every
   * connection from its first packet on, and `secureConnection` once it has
   * shown its certificate.
   */
  createServer(credentials: LinkCredentials, settings: ListenSettings): Server;
}

/** Mutual TLS 1.3 over TCP. The key is the identity; no authority signs it and no name is in it. */
export const TLS_SOCKETS: LinkSockets = {
  connect: ({ host, port }, { certificatePem, privateKeyPem }) =>
    connect({
      host,
      port,
      cert: certificatePem,
      key: privateKeyPem,
      minVersion: "TLSv1.3",
      rejectUnauthorized: false,
    }),
  createServer: ({ certificatePem, privateKeyPem }, { requestLimitMs }) =>
    createServer({
      cert: certificatePem,
      key: privateKeyPem,
      minVersion: "TLSv1.3",
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: 5000,
      headersTimeout: 5000,
      requestTimeout: requestLimitMs,
      connectionsCheckingInterval: 2500,
      maxHeaderSize: 16 * 1024,
      keepAliveTimeout: 75_000,
      noDelay: true,
    }),
};
