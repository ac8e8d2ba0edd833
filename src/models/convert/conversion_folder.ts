/**
 * How folders of conversions begin in the folder of partial files, where what
 * is left of them goes after a week like what is left of pulls.
 */
export const CONVERSION_PREFIX = "convert-";
