/** What a request's head says, by field name in lower case; read once, since each look costs. */
export type HeadFields = ReadonlyMap<string, string>;
