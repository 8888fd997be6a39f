/**
 * Smaller transcripts get no checkpoint, because parsing them again is cheaper than storing one. Real sessions reach
 * this size after about fifty messages.
 */
export const DEFAULT_MIN_CHECKPOINT_BYTES = 256 * 1024;

/** Larger transcripts are ingested separately, because sharing a transaction saves them little. */
export const MAX_GROUPED_BYTES = 32 * 1024 * 1024;
