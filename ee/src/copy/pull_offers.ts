import type { ModelShelf, PullOffer } from "@covey/core/domain";

/**
 * What a models folder holds from one source.
 *
 * @param shelf The models folder.
 * @param source Repository of a hub, or a URL without its query.
 */
export async function offersOf(
  shelf: Pick<ModelShelf, "list" | "manifest">,
  source: string,
): Promise<readonly PullOffer[]> {
  const offers: PullOffer[] = [];
  for (const { name, root } of shelf.list()) {
    const manifest = root === null ? null : await shelf.manifest(name);
    if (manifest === null) continue;
    const files = manifest.files.flatMap(({ origin, sizeBytes }) =>
      origin?.source === source && !origin.derived
        ? [{ origin, sizeBytes }]
        : []
    );
    if (files.length < manifest.files.length) continue;
    offers.push({
      model: name,
      root: manifest.root,
      files,
      sizeBytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      members: 1,
    });
  }
  return offers;
}

/**
 * Put together what members have: one offer for each model, with their number.
 *
 * @param offers Of each member.
 */
export function joinOffers(
  offers: readonly (readonly PullOffer[])[],
): readonly PullOffer[] {
  const same = Map.groupBy(
    offers.flat(),
    ({ files, root }) => JSON.stringify([root, files]),
  );
  return [...same.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, members: 1 + others.length }]
  );
}
