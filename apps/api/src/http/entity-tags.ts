/** Whether an If-None-Match header names the entity tag: `*`, or one of a list, weak ones included. */
export function matchesEntityTag(header: string | undefined, entityTag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === entityTag);
}

/** Whether a Range may be honoured: there is no If-Range, or it is exactly this (strong) entity tag. */
export function mayServeRange(ifRange: string | undefined, entityTag: string): boolean {
  return ifRange === undefined || ifRange.trim() === entityTag;
}
