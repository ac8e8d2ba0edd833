/** File in the data folder that a running node holds for itself. */
export const LOCK_FILE = "node.lock";

/** File in the data folder with the certificate that a node made for its API. */
export const API_CERTIFICATE_FILE = "api_certificate.pem";
