/** The part of a shared limit that one API key may hold. It is half, so that it cannot lock out the others. */
export const toKeyShare = (limit: number): number => Math.max(1, Math.floor(limit / 2));
