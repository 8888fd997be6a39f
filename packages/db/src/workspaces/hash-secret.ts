import { createHash } from 'node:crypto';

/** What is stored of a secret that has at least 128 random bits, or is valid for minutes. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');
