import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { type Database, readWorkspaceSettings } from '@recount/db';
import { gatherCalls } from '../gather-calls.ts';

/** Removes secrets from what an upload says about itself, which is in rows, exports and answers as it is received. */
export interface ParameterRedaction {
  /** Texts that people read, like a machine's name. */
  toText(text: string | undefined): Promise<string | null>;
  /**
   * Names that rows are found by, like paths of attachments. The same secret becomes the same mark, and two secrets
   * become two. What has different names stays apart.
   */
  toName<Name extends string | null>(name: Name): Promise<Name | string>;
}

const UNCHANGED: ParameterRedaction = {
  toText: async (text) => text ?? null,
  toName: async (name) => name,
};

const DIGEST_BYTES = 4;
/** Slow on purpose, because a digest that is computed quickly would let a weak password be guessed. */
const digest = promisify(scrypt) as (secret: string, salt: string, bytes: number) => Promise<Buffer>;

/** The workspace's current choice. Earlier rows are not changed. */
export async function createParameterRedaction(database: Database, workspaceId: string): Promise<ParameterRedaction> {
  const settings = await readWorkspaceSettings(database, workspaceId);
  if ((settings?.redaction ?? 'off') === 'off') return UNCHANGED;
  // Loaded on demand, because the rules take 0.1 s to load.
  const { redactText } = await import('./index.ts');
  const toDistinctMark = async (rule: string, secret: string): Promise<string> =>
    `[REDACTED:${rule}:${(await digest(secret, workspaceId, DIGEST_BYTES)).toString('hex')}]`;
  return {
    toText: async (text) => (text === undefined ? null : await redactText(text)),
    toName: async (name) => (name === null ? name : await redactText(name, toDistinctMark)),
  };
}

/** Uploads that come together share a read of the choice. */
const MAX_READERS = 1000;

/** Returns `createParameterRedaction` of a workspace, for many uploads: each read begins after the calls that it is for. */
export function createRedactionReader(database: Database, workspaceId: string): () => Promise<ParameterRedaction> {
  const read = gatherCalls({ maxInputs: MAX_READERS }, async (calls: readonly undefined[]) => {
    const redaction = await createParameterRedaction(database, workspaceId);
    return calls.map(() => redaction);
  });
  return () => read(undefined);
}
