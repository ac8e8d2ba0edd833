/**
 * The root of weights as the models folder computes it, for tests that hold
 * the cluster's reading of manifests against it.
 *
 * @module
 */
export { rootOf } from "../../src/models/manifest.ts";
