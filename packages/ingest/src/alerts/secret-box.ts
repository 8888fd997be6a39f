import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts secrets that are stored: of destinations, and tokens of OpenID providers. */
export interface SecretBox {
  /** `place` says what the secret belongs to; it can only be opened with the same one. */
  seal(place: string, secret: object): string;
  /** Throws SecretBoxError if the text was sealed with another key or for another place, or was changed. */
  open(place: string, text: string): unknown;
}

export class SecretBoxError extends Error {
  override name = 'SecretBoxError';
}

const SECRET_KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1.';

/** AES-256-GCM with a random IV. Throws RangeError if the key has another length than 32 bytes. */
export function createSecretBox(key: Uint8Array): SecretBox {
  if (key.byteLength !== SECRET_KEY_BYTES) throw new RangeError(`The key must have ${SECRET_KEY_BYTES} bytes`);
  return {
    seal(place, secret) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(JSON.stringify(secret), 'utf8'), cipher.final()]);
      return VERSION + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(place, text) {
      try {
        if (!text.startsWith(VERSION)) throw new SecretBoxError('Another version');
        const bytes = Buffer.from(text.slice(VERSION.length), 'base64url');
        const iv = bytes.subarray(0, IV_BYTES);
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
        return JSON.parse(opened.toString('utf8')) as unknown;
      } catch {
        // The cause may quote what was decrypted.
        throw new SecretBoxError('The secret cannot be decrypted: was it stored with another RECOUNT_SECRET_KEY?');
      }
    },
  };
}
