import { readFile, rename, writeFile } from 'node:fs/promises';

/** The API key of a local installation, readable only by its owner. */
export interface Credentials {
  workspaceId: string;
  keyId: string;
  apiKey: string;
}

/** Undefined if there are none, or they cannot be read. New ones are then created. */
export async function readCredentials(path: string): Promise<Credentials | undefined> {
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as Partial<Credentials> | null;
    const texts = [value?.workspaceId, value?.keyId, value?.apiKey];
    return texts.every((text) => typeof text === 'string' && text !== '') ? (value as Credentials) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function writeCredentials(path: string, credentials: Credentials): Promise<void> {
  const temporaryPath = `${path}.tmp`;
  await writeFile(temporaryPath, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await rename(temporaryPath, path);
}
