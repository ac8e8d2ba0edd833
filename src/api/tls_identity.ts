/** What a listener proves itself by. */
export interface TlsIdentity {
  /** The certificate, with those that vouch for it, PEM. */
  readonly certificatePem: string;
  /** The private key that belongs to it, PEM. */
  readonly privateKeyPem: string;
}
