import { createHash } from 'node:crypto';

/** A chunk of a live stream preceded by its length and SHA-256, in the encoding `recount-chunked`. */
export function encodeChunk(bytes: Uint8Array): Uint8Array {
  const digest = createHash('sha256').update(bytes).digest('base64');
  const header = Buffer.from(`${bytes.length.toString(16)};sha-256=:${digest}:\r\n`);
  return Buffer.concat([header, bytes, Buffer.from('\r\n')]);
}
