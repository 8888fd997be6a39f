import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { createRandom, type Random } from '../random.ts';
import { type ApiProcess, startApiProcess } from './api-process.ts';
import { toBombs } from './write-archives.ts';

export interface ApiAttack {
  seconds: number;
  /** Answers by attack and status. */
  answers: Record<string, number>;
  peakRssBytes: number | undefined;
  violations: string[];
}

const MAX_UPLOADS = 8;
const MEBIBYTE = 1024 ** 2;
/** Duration of a slow upload. */
const TRICKLE_MS = 2000;

/** Sends a separate API what no client should, and checks that it refuses, keeps answering and stays small. */
export async function attackApi({
  uploads,
  damagedBodies,
  decodedBytes,
}: {
  uploads: number;
  damagedBodies: number;
  decodedBytes: number;
}): Promise<ApiAttack> {
  const startedAtMs = performance.now();
  const answers: Record<string, number> = {};
  const violations: string[] = [];
  const api = await startApiProcess({
    RECOUNT_MAX_CONCURRENT_UPLOADS: String(MAX_UPLOADS),
    RECOUNT_UPLOAD_IDLE_TIMEOUT_MS: '3000',
  });
  const count = (what: string, status: number | string): void => {
    const name = `${what} ${status}`;
    answers[name] = (answers[name] ?? 0) + 1;
    if (Number(status) >= 500) violations.push(`${what} answered ${status}`);
  };
  try {
    for (const attack of [sendTooMany(uploads), sendBombs(decodedBytes), sendDamaged(damagedBodies), holdConnections]) {
      await attack(api, count, violations);
      const health = await fetch(`${api.url}/healthz`).then(({ status }) => status, String);
      if (health !== 200) violations.push(`afterwards /healthz answered ${health}`);
      const left = (await api.listStore()).length - (answers['at once 202'] ?? 0) - (answers['damaged 202'] ?? 0);
      if (left !== 0) violations.push(`${left} files left in the store`);
    }
    if (api.exitCode() !== undefined) violations.push(`the API ended: ${api.exitCode()}`);
    const peakRssBytes = await api.readPeakRssBytes();
    return { seconds: (performance.now() - startedAtMs) / 1000, answers, peakRssBytes, violations };
  } finally {
    await api.stop();
  }
}

type Count = (what: string, status: number | string) => void;
type Attack = (api: ApiProcess, count: Count, violations: string[]) => Promise<void>;

const toLine = (session: string): string =>
  `{"type":"user","sessionId":"${session}","message":{"content":"${'x'.repeat(500)}"}}\n`;

async function post(api: ApiProcess, body: Buffer | Readable, headers: Record<string, string>): Promise<Response> {
  return await fetch(`${api.url}/v1/transcripts`, {
    method: 'POST',
    body: body instanceof Readable ? (Readable.toWeb(body) as ReadableStream) : Uint8Array.from(body),
    duplex: 'half',
    headers: { authorization: `Bearer ${api.key}`, ...headers },
  } as RequestInit);
}

/** More concurrent slow uploads than allowed. Some are accepted, the others are asked to come back. */
function sendTooMany(uploads: number): Attack {
  return async (api, count, violations) => {
    const send = async (index: number): Promise<void> => {
      async function* body(): AsyncGenerator<Buffer> {
        yield Buffer.from(toLine(`session-${index}`));
        await sleep(TRICKLE_MS);
        yield Buffer.from(toLine(`session-${index}`).repeat(2000));
      }
      const response = await post(api, Readable.from(body()), {}).catch(() => undefined);
      count('at once', response?.status ?? 'connection closed');
      if (response?.status === 429 && !(Number(response.headers.get('retry-after')) > 0)) {
        violations.push('429 without Retry-After');
      }
    };
    await Promise.all(Array.from({ length: uploads }, (_, index) => send(index)));
  };
}

/** Bombs in every encoding; archives, which are not transcripts, unchanged. */
function sendBombs(decodedBytes: number): Attack {
  return async (api, count, violations) => {
    const head = Buffer.from(toLine('bomb'));
    const zeros = Buffer.alloc(64 * MEBIBYTE, '\n');
    const encoded: [encoding: string, beginning: Buffer, part: Buffer][] = [
      ['gzip', gzipSync(head), gzipSync(zeros)],
      ['zstd', zstdCompressSync(head), zstdCompressSync(zeros)],
    ];
    for (const [encoding, beginning, part] of encoded) {
      const body = Buffer.concat([beginning, ...Array<Buffer>(decodedBytes / zeros.length).fill(part)]);
      const { status } = await post(api, body, { 'content-encoding': encoding });
      count(`${encoding} bomb`, status);
      if (status !== 413) violations.push(`a ${encoding} bomb was answered ${status}`);
    }
    for (const [name, toChunks] of Object.entries(toBombs(64 * MEBIBYTE))) {
      const { status } = await post(api, Buffer.concat([...toChunks()]), {});
      count(name, status);
      if (status !== 422) violations.push(`${name} was answered ${status}`);
    }
  };
}

/** Bodies in every encoding with flipped, cut and repeated bytes. */
function sendDamaged(bodies: number): Attack {
  const text = Buffer.from(Array.from({ length: 200 }, (_, index) => toLine(`damaged-${index % 3}`)).join(''));
  const wholes: [encoding: string | undefined, bytes: Buffer][] = [
    [undefined, text],
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['zstd', zstdCompressSync(text)],
  ];
  return async (api, count) => {
    const random = createRandom(1);
    for (let index = 0; index < bodies; index += 1) {
      const [encoding, bytes] = random.pick(wholes);
      const headers = encoding === undefined ? undefined : { 'content-encoding': encoding };
      count('damaged', (await post(api, damage(bytes, random), headers ?? {})).status);
    }
  };
}

function damage(bytes: Buffer, random: Random): Buffer {
  const damaged = Buffer.from(bytes);
  const place = random.integer(0, bytes.length - 1);
  damaged[place] = (damaged[place] ?? 0) ^ random.integer(1, 255);
  if (random.chance(0.3)) return damaged.subarray(0, random.integer(0, bytes.length));
  return random.chance(0.3) ? Buffer.concat([damaged, damaged.subarray(place)]) : damaged;
}

const CONNECTIONS = 300;

/** Connections that send half a request and nothing more, or close their side. Others are still answered. */
const holdConnections: Attack = async (api, count) => {
  const beginnings = [
    '',
    'POST /v1/transcripts HTTP/1.1\r\nhost: x\r\n',
    `POST /v1/transcripts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\ncontent-length: 1000000\r\n\r\n{`,
    `POST /v1/transcripts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n{`,
  ];
  const sockets: Socket[] = [];
  for (let index = 0; index < CONNECTIONS; index += 1) {
    const socket = connect(api.port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(beginnings[index % beginnings.length] ?? '');
    if (index % 3 === 0) socket.end();
  }
  await sleep(TRICKLE_MS);
  count('beside held connections', (await fetch(`${api.url}/healthz`)).status);
  for (const socket of sockets) socket.destroy();
  await sleep(TRICKLE_MS);
};
