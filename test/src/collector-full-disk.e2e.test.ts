import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSpoolFolder,
  type SendResult,
  sendSessions,
  type TranscriptDelivery,
  type TranscriptReceipt,
  toSpoolFolder,
  writeHookProgram,
} from '@recount/collect';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

const DISK_BYTES = 2 * 1024 * 1024;
const isSupported = process.platform === 'linux' && process.getuid?.() === 0;
let disk: SmallDisk | undefined;
let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-collector-disk-'));
  if (isSupported) disk = await mountSmallDisk(DISK_BYTES);
});
afterAll(async () => {
  await disk?.unmount();
  await rm(home, { recursive: true });
});

it.skipIf(!isSupported)(
  'a machine whose disk is full loses nothing, disturbs no agent, and counts nothing twice',
  async ({ skip }) => {
    if (disk === undefined) return skip();
    const folder = toSpoolFolder(join(disk.directory, 'collector'));
    await createSpoolFolder(folder);
    const hook = await writeHookProgram(folder, ['/nowhere/node', '/nowhere/recount', 'send'], process.platform);
    const stored = new Map<string, string>();
    const receive = async ({ path, sha256, open }: TranscriptDelivery): Promise<TranscriptReceipt> => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of open(0)) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      expect(createHash('sha256').update(text).digest('hex')).toBe(sha256);
      const isDuplicate = stored.get(path) === text;
      stored.set(path, text);
      const transcript = { transcriptId: path, sessionId: path, status: 'queued', failureReason: null } as const;
      return { transcript, isDuplicate, isHealed: false, sentFromByte: 0 };
    };
    const machine = { platform: 'linux', environment: {}, homeFolder: home };
    const target = { send: receive, sendAttachment: () => Promise.reject(new Error('There are no attachments')) };
    const send = (): Promise<SendResult> =>
      sendSessions(
        { folder, machine, target, takeLock: () => ({ release: () => undefined }) },
        { settleMs: 20, retryDelayMs: 1, sweeps: true },
      );
    const projects = join(home, '.claude/projects/-app');
    await mkdir(projects, { recursive: true });

    await disk.fill();
    const paths = ['a', 'b', 'c'].map((name) => join(projects, `${name}.jsonl`));
    for (const path of paths) {
      await writeFile(path, `{"type":"user","sessionId":"${path}"}\n`);
      const input = JSON.stringify({ hook_event_name: 'Stop', transcript_path: path });
      const { status, stdout, stderr } = spawnSync('sh', ['-c', hook], { input, encoding: 'utf8' });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
    }
    // It says why it cannot work, and if it cannot record what it sent, it sends it again.
    await expect(send()).rejects.toThrow(/ENOSPC/);

    await disk.free();
    const { sent, duplicates, waiting } = await send();
    expect([sent + duplicates, waiting]).toEqual([3, 0]);
    expect([...stored.keys()].sort()).toEqual(paths);
    expect(await send()).toMatchObject({ sent: 0, duplicates: 0 });
    expect(await readdir(folder.waiting)).toEqual([]);
  },
);
