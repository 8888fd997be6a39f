import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readText } from '../../records/fields.ts';
import { parseJsonText } from '../reader-kit.ts';
import type { SessionBlobs } from '../session-places.ts';

/** Fields of a state in the Protocol Buffers wire format (https://protobuf.dev/programming-guides/encoding). */
const MESSAGE_IDS = 1;
const WORKSPACES = 9;
const ID_BYTES = 32;

/**
 * `~/.cursor/chats/<hash of the folder>/<session>/store.db` of Cursor's CLI. A blob's id is the SHA-256 of its bytes.
 * Each message is a JSON blob, each state of the session is a blob that lists messages, and the one row of `meta`,
 * hex-encoded JSON, names the latest state.
 */
export const cursorBlobs: SessionBlobs = {
  facts: { table: 'meta', value: 'value' },
  blobs: { table: 'blobs', id: 'id', data: 'data' },
  unread: {},
  readFacts(value) {
    const read = parseJsonText(Buffer.from(value, 'hex').toString());
    if (!isJsonObject(read)) return { facts: {} };
    // Cursor's service encrypts blobs with it, so it is a secret.
    const { blobEncryptionKey: _, ...facts } = read as JsonObject;
    const sessionId = readText(facts.agentId) || undefined;
    return { sessionId, rootId: readText(facts.latestRootBlobId) ?? undefined, facts };
  },
  readOrder: (root) =>
    readByteFields(root, MESSAGE_IDS)
      .filter((id) => id.length === ID_BYTES)
      .map((id) => Buffer.from(id).toString('hex')),
};

/** The session's working directory; undefined if the state does not name it. */
export function readWorkspace(root: Uint8Array): string | undefined {
  const [first] = readByteFields(root, WORKSPACES).map((bytes) => Buffer.from(bytes).toString());
  const path = /^file:\/\/(\/.*)$/s.exec(first ?? '')?.[1];
  if (path === undefined) return undefined;
  try {
    // `file:///c%3A/app` on Windows.
    return decodeURIComponent(path).replace(/^\/(?=[A-Za-z]:)/, '');
  } catch {
    return undefined;
  }
}

/** The values of a bytes field at the top level, up to the first byte that cannot be decoded. */
function readByteFields(message: Uint8Array, field: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  let position = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let factor = 1; position < message.length; factor *= 0x80) {
      const byte = message[position++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (position < message.length) {
    const key = readVarint();
    const type = key % 8;
    if (type === 0) readVarint();
    else if (type === 1 || type === 5) position += type === 1 ? 8 : 4;
    else if (type === 2) {
      const length = readVarint();
      if (position + length > message.length) return found;
      if (Math.floor(key / 8) === field) found.push(message.subarray(position, position + length));
      position += length;
    } else return found;
  }
  return found;
}
