import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseDictionary } from 'structured-headers';
import { ProblemError } from '../problems/problem-error.ts';

export interface ExpectedDigest {
  /** As node:crypto names it. */
  algorithm: 'sha256' | 'sha512';
  value: Buffer;
}

/** What a client says that its body hashes to. */
interface BodyDigests {
  /** Over the bytes as they are sent, before any Content-Encoding is undone. */
  sent: ExpectedDigest[];
  /** Over the decoded bytes. */
  decoded: ExpectedDigest[];
}

const ALGORITHMS: ReadonlyMap<string, { algorithm: ExpectedDigest['algorithm']; lengthBytes: number }> = new Map([
  ['sha-256', { algorithm: 'sha256', lengthBytes: 32 }],
  ['sha-512', { algorithm: 'sha512', lengthBytes: 64 }],
]);

/** Repr-Digest is over the same bytes, as RFC 9530 counts the coding as part of what is sent. */
const SENT_FIELDS = ['content-digest', 'repr-digest'] as const;
const DECODED_FIELD = 'unencoded-digest';
const AMAZON_FIELD = 'x-amz-checksum-sha256';
const WANTED = { 'want-content-digest': 'sha-256=10, sha-512=9' };

/** The digests of headers, or of trailers. Throws ProblemError `invalid-digest`. */
export function parseDigests(headers: IncomingHttpHeaders | NodeJS.Dict<string>): BodyDigests {
  const parse = (name: string): ExpectedDigest[] => {
    const value = headers[name];
    return typeof value === 'string' ? parseField(name, value) : [];
  };
  const amazon = headers[AMAZON_FIELD];
  return {
    sent: [
      ...SENT_FIELDS.flatMap(parse),
      ...(typeof amazon === 'string' ? [parseValue(AMAZON_FIELD, 'sha-256', amazon)] : []),
    ],
    decoded: parse(DECODED_FIELD),
  };
}

export const hasDigests = ({ sent, decoded }: BodyDigests): boolean => sent.length + decoded.length > 0;

/** SHA-256 (hex) among digests of the decoded body that are verified, so that it need not be hashed once more. */
export const findSha256 = (digests: readonly ExpectedDigest[]): string | undefined =>
  digests.find(({ algorithm }) => algorithm === 'sha256')?.value.toString('hex');

/** Algorithms that are not known are passed over where one is that can be checked. */
function parseField(name: string, value: string): ExpectedDigest[] {
  let members: ReturnType<typeof parseDictionary>;
  try {
    members = parseDictionary(value);
  } catch (cause) {
    throw invalid(name, 'is no dictionary of byte sequences, such as sha-256=:…:', cause);
  }
  const digests = [...members].flatMap(([algorithm, [item]]) =>
    ALGORITHMS.has(algorithm) ? [toDigest(name, algorithm, item)] : [],
  );
  if (digests.length === 0) throw invalid(name, 'names no algorithm that is checked here: send sha-256 or sha-512');
  return digests;
}

function parseValue(name: string, algorithm: string, base64: string): ExpectedDigest {
  const bytes = Buffer.from(base64, 'base64');
  return toDigest(name, algorithm, bytes.toString('base64') === base64 ? bytes : undefined);
}

function toDigest(name: string, algorithm: string, item: unknown): ExpectedDigest {
  const known = ALGORITHMS.get(algorithm);
  const value = item instanceof ArrayBuffer ? Buffer.from(item) : item;
  if (known === undefined || !Buffer.isBuffer(value) || value.length !== known.lengthBytes) {
    throw invalid(name, `has a ${algorithm} that is not ${known?.lengthBytes} bytes in base64`);
  }
  return { algorithm: known.algorithm, value };
}

function invalid(name: string, what: string, cause?: unknown): ProblemError {
  return new ProblemError('invalid-digest', `${name} ${what}`, { cause, headers: WANTED });
}

/**
 * The bytes, unchanged, which fail after the last one where they are not what the digests say: so nothing of them is kept.
 * `trailers` is called after the last byte; of what it gives, sha-256 is checked. Throws ProblemError
 * `digest-mismatch`.
 */
export async function* verifyDigests(
  body: AsyncIterable<Buffer>,
  digests: readonly ExpectedDigest[],
  trailers?: () => readonly ExpectedDigest[],
): AsyncGenerator<Buffer> {
  const algorithms = new Set(digests.map(({ algorithm }) => algorithm));
  if (trailers !== undefined) algorithms.add('sha256');
  const hashes = new Map<string, Hash>([...algorithms].map((algorithm) => [algorithm, createHash(algorithm)]));
  for await (const chunk of body) {
    for (const hash of hashes.values()) hash.update(chunk);
    yield chunk;
  }
  const found = new Map([...hashes].map(([algorithm, hash]) => [algorithm, hash.digest()]));
  for (const { algorithm, value } of [...digests, ...(trailers?.() ?? [])]) {
    const digest = found.get(algorithm);
    if (digest !== undefined && !digest.equals(value)) {
      throw new ProblemError('digest-mismatch', 'The bytes that came are not those that were sent: send them again');
    }
  }
}
