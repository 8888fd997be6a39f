import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseDictionary } from 'structured-headers';
import { ProblemError } from '../problems/problem-error.ts';

export interface ExpectedDigest {
  /** As named by node:crypto. */
  algorithm: 'sha256' | 'sha512';
  value: Buffer;
}

/** Digests of the body according to the client. */
interface BodyDigests {
  /** Digests of the bytes as sent, before decoding any Content-Encoding. */
  sent: ExpectedDigest[];
  /** Digests of the decoded bytes. */
  decoded: ExpectedDigest[];
}

const ALGORITHMS: ReadonlyMap<string, { algorithm: ExpectedDigest['algorithm']; lengthBytes: number }> = new Map([
  ['sha-256', { algorithm: 'sha256', lengthBytes: 32 }],
  ['sha-512', { algorithm: 'sha512', lengthBytes: 64 }],
]);

/** Repr-Digest covers the same bytes, because RFC 9530 counts the encoding as part of the representation. */
const SENT_FIELDS = ['content-digest', 'repr-digest'] as const;
const DECODED_FIELD = 'unencoded-digest';
const AMAZON_FIELD = 'x-amz-checksum-sha256';
const WANTED = { 'want-content-digest': 'sha-256=10, sha-512=9' };

/** Parses the digests in headers or trailers. Throws ProblemError `invalid-digest`. */
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

/** The SHA-256 (hex) among digests of the decoded body; it is verified, so the body need not be hashed again. */
export const findSha256 = (digests: readonly ExpectedDigest[]): string | undefined =>
  digests.find(({ algorithm }) => algorithm === 'sha256')?.value.toString('hex');

/** Unknown algorithms are ignored if another one can be verified. */
function parseField(name: string, value: string): ExpectedDigest[] {
  let members: ReturnType<typeof parseDictionary>;
  try {
    members = parseDictionary(value);
  } catch (cause) {
    throw invalid(name, 'is not a dictionary of byte sequences, such as sha-256=:…:', cause);
  }
  const digests = [...members].flatMap(([algorithm, [item]]) =>
    ALGORITHMS.has(algorithm) ? [toDigest(name, algorithm, item)] : [],
  );
  if (digests.length === 0) throw invalid(name, 'names no supported algorithm. Send sha-256 or sha-512');
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
 * The bytes, unchanged; fails after the last one if the digests do not match, so that nothing is stored. `trailers` is
 * called after the last byte; of its digests, sha-256 is verified. Throws ProblemError `digest-mismatch`.
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
      throw new ProblemError('digest-mismatch', 'The received bytes differ from the sent ones. Send them again');
    }
  }
}
