import { createHash } from 'node:crypto';

/** The SHA-256 of a random secret, which is stored in its place. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');
