/**
 * What the bodies of operators' routes have to hold. Loaded at the first such
 * request, and for the API's description, because of the schemas' library.
 *
 * @module
 */
import * as z from "zod";
import { type AdminBody, adminBody } from "./admin_body.ts";

const SLOWEST_BYTES_PER_SECOND = 1_024;
const LONGEST_MEMBER = 200;

/** Of `POST /covey/keys`. */
export const KEY_BODY: AdminBody<{
  readonly name: string;
  readonly admin: boolean;
}> = adminBody(
  z.looseObject({ name: z.string(), admin: z.boolean().default(false) }),
  'A key wants {"name": text, "admin": true or false}',
);

const source = {
  source: z.string(),
  revision: z.string().exactOptional(),
};

/** Of `POST /covey/pulls`. */
export const PULL_BODY: AdminBody<{
  readonly source: string;
  readonly revision?: string;
  readonly max_bytes_per_second?: number;
}> = adminBody(
  z.looseObject({
    ...source,
    max_bytes_per_second: z.number().min(SLOWEST_BYTES_PER_SECOND)
      .exactOptional(),
  }),
  `A pull wants {"source": "org/repo[:quantisation]" or a URL}, and may have "revision" and "max_bytes_per_second" of at least ${SLOWEST_BYTES_PER_SECOND}`,
);

/** Of `POST /covey/fit`. */
export const FORECAST_BODY: AdminBody<{
  readonly source: string;
  readonly revision?: string;
}> = adminBody(
  z.looseObject(source),
  'A look at a model elsewhere wants {"source": "org/repo[:quantisation]" or a URL}, and may have "revision"',
);

/** Of `POST /covey/imports`; null for the usual places. */
export const IMPORT_BODY: AdminBody<{ readonly folder: string | null }> =
  adminBody(
    z.union([
      z.looseObject({ folder: z.string() }),
      z.looseObject({ found: z.literal(true) })
        .transform(() => ({ folder: null })),
    ]),
    'An import wants {"folder": absolute path}, or {"found": true} for the usual places',
    "folder",
  );

/** Of `POST /covey/models/verify`; no model for all. */
export const VERIFY_BODY: AdminBody<{ readonly model?: string }> = adminBody(
  z.looseObject({ model: z.string().exactOptional() }),
  'Verification wants {"model": name}, or no model for all',
  "model",
);

/** Of `POST /covey/models/convert`. */
export const CONVERSION_BODY: AdminBody<{
  readonly model: string;
  readonly to: string;
  readonly as?: string;
}> = adminBody(
  z.looseObject({
    model: z.string(),
    to: z.string(),
    as: z.string().exactOptional(),
  }),
  'A conversion wants {"model": name, "to": "q8_0"}, and may have "as", the name of what is made',
);

/** Of `POST /covey/models/{model}/unload`; no node for all. */
export const UNLOAD_BODY: AdminBody<{ readonly node?: string }> = adminBody(
  z.looseObject({ node: z.string().exactOptional() }),
  '"node" must be the name or id of a member',
  "node",
);

/** Of `POST /covey/packs/{name}`. */
export const PACK_BODY: AdminBody<{ readonly from?: string | null }> =
  adminBody(
    z.looseObject({
      from: z.string().max(LONGEST_MEMBER).nullable().exactOptional(),
    }),
    '"from" must be the name or id of a member',
    "from",
  );
