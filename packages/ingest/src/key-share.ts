/** How much of a limit that many share one API key may hold: half, so that it cannot lock out the others. */
export const toKeyShare = (limit: number): number => Math.max(1, Math.floor(limit / 2));
