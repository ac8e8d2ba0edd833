/**
 * Public keys of those who may issue licences: Ed25519, 32 bytes each as
 * base64url. They are compiled in, since a key from the environment would be a
 * way around the gate; a publisher adds the public half of what
 * `deno task licence:key` makes and keeps the private half out of the
 * repository. While the list is empty, no licence counts. An older key stays
 * in the list as long as licences that it signed are in use.
 */
export const LICENCE_KEYS: readonly string[] = [];
