import { createHash, type Hash } from 'node:crypto';
import type { StoredVersion } from '@recount/db';
import { cutAtLengths } from '../process/hash-prefixes.ts';

/** A stored version of the session whose bytes a transcript begins with. */
export interface ComparedBeginning {
  transcriptId: string;
  /** SHA-256 (hex) of the bytes that follow. */
  tailSha256: string;
}

export interface VersionComparison {
  update(chunk: Uint8Array): void;
  /** SHA-256 (hex) of all bytes, and the longest version that they begin with; to be called once, after the last chunk. */
  toResult(): { sha256: string; beginning: ComparedBeginning | undefined };
  /** Compares with these, as far as they are no shorter than the bytes seen so far. */
  add(versions: readonly StoredVersion[]): void;
}

/** Hashes a transcript as it streams by, and compares it with shorter ones by their hashes. */
export function createVersionComparison(): VersionComparison {
  const whole = createHash('sha256');
  let offset = 0;
  let pending: StoredVersion[] = [];
  let beginning: { version: StoredVersion; tail: Hash } | undefined;

  const compare = (): void => {
    const reached = pending.filter(({ sizeBytes }) => sizeBytes === offset);
    if (reached.length === 0) return;
    pending = pending.slice(reached.length);
    const sha256 = whole.copy().digest('hex');
    const version = reached.find((candidate) => candidate.sha256 === sha256);
    if (version !== undefined) beginning = { version, tail: createHash('sha256') };
  };

  return {
    add(versions) {
      pending = versions.filter(({ sizeBytes }) => sizeBytes >= offset).sort((a, b) => a.sizeBytes - b.sizeBytes);
    },
    update(chunk) {
      const lengths = pending.map(({ sizeBytes }) => sizeBytes);
      for (const part of cutAtLengths(chunk, offset, lengths)) {
        whole.update(part);
        beginning?.tail.update(part);
        offset += part.length;
        compare();
      }
    },
    toResult: () => ({
      sha256: whole.digest('hex'),
      beginning: beginning && {
        transcriptId: beginning.version.id,
        tailSha256: beginning.tail.digest('hex'),
      },
    }),
  };
}
