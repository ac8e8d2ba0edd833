/** Where archives of engine packs are listed and handed out on the link. */
export const PACKS_PATH = "/covey/1/packs";
