import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, vi } from 'vitest';

export interface UploadUnderWay {
  send(bytes: string | Buffer): void;
  /** Ends this side of the connection, like a client that has finished sending. */
  end(): void;
  /** Breaks the connection. */
  destroy(): void;
  /** Everything that the server had sent when the connection was closed. */
  answer: Promise<string>;
}

/** Opens a connection to the API and sends an upload's headers and `beginning`. */
export function openUpload(
  api: { url: string; key: string },
  headers: Record<string, string>,
  beginning: string | Buffer = '',
): UploadUnderWay {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  socket.on('error', () => undefined);
  const answer = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(received).toString()));
  });
  const all = { host: 'test', authorization: `Bearer ${api.key}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /v1/transcripts HTTP/1.1\r\n${lines.join('')}\r\n`);
  socket.write(beginning);
  return {
    send: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
    answer,
  };
}

/** Waits until the folder store writes an upload. */
export async function waitUntilStoring(storeDirectory: string): Promise<void> {
  await vi.waitFor(async () => expect(await listUploadsUnderWay(storeDirectory)).not.toEqual([]));
}

/** The folder store's puts in progress, or left behind. */
export async function listUploadsUnderWay(storeDirectory: string): Promise<string[]> {
  return await readdir(join(storeDirectory, '.incoming')).catch(() => []);
}
