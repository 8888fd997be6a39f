import { createTar } from 'nanotar';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { UploadState } from './upload-queue.ts';

type Queue = typeof import('./upload-queue.ts');

let queue: Queue;
const answers = vi.fn<(path: string) => Response>();

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('localStorage', { getItem: () => null });
  vi.stubGlobal('fetch', async (url: string) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return answers(new URL(url, 'http://a').searchParams.get('path') ?? '');
  });
  queue = await import('./upload-queue.ts');
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  answers.mockReset();
});

const stored = (): Response => Response.json({ transcript_id: '1', raw_object: 'stored' }, { status: 202 });
const refuse = (status: number, headers = {}): Response =>
  Response.json({ detail: `answer ${status}` }, { status, headers });

const choose = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ path: `${index}.jsonl`, file: new File(['{}'], `${index}.jsonl`) }));

async function sendAll(files = choose(8)): Promise<UploadState> {
  await queue.addFiles(files);
  await vi.runAllTimersAsync();
  return queue.readUploads();
}

const statesOf = ({ uploads }: UploadState) => Object.groupBy(uploads, ({ state }) => state);

it.each([429, 502, 503, 504])('files that are answered %d are sent again by themselves', async (status) => {
  let refused = 0;
  answers.mockImplementation(() => (refused++ < 7 ? refuse(status, { 'retry-after': '2' }) : stored()));
  expect(statesOf(await sendAll()).done).toHaveLength(8);
});

it('a pause lasts as long as the server asks for, and says why nothing is sent', async () => {
  answers.mockImplementation(() => refuse(503, { 'retry-after': '30' }));
  await queue.addFiles(choose(1));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(answers).toHaveBeenCalledTimes(1);
  expect(queue.readUploads().pauseReason).toBe('answer 503');
  answers.mockImplementation(stored);
  await vi.advanceTimersByTimeAsync(2000);
  expect(statesOf(queue.readUploads()).done).toHaveLength(1);
  expect(queue.readUploads().pauseReason).toBeUndefined();
});

it('every file is named when the server stays away, and all of them can be sent again', async () => {
  answers.mockImplementation(() => {
    throw new TypeError('Failed to fetch');
  });
  const { refused } = statesOf(await sendAll(choose(50)));
  expect(refused).toHaveLength(50);
  expect(answers.mock.calls.length).toBeLessThan(50);
  expect(refused?.every(({ reason, opened }) => reason?.includes('cannot be reached') && opened)).toBe(true);
  answers.mockImplementation(stored);
  queue.sendAgain();
  await vi.runAllTimersAsync();
  const { done } = statesOf(queue.readUploads());
  expect(done).toHaveLength(50);
  expect(done?.filter(({ opened }) => opened !== undefined)).toEqual([]);
});

it.each([401, 507])('files that wait are not sent in vain after an answer %d', async (status) => {
  answers.mockImplementation(() => refuse(status));
  expect(statesOf(await sendAll(choose(50))).refused).toHaveLength(50);
  expect(answers.mock.calls.length).toBeLessThanOrEqual(3);
});

it('a file that the server refuses does not hold up the others', async () => {
  answers.mockImplementation((path) => (path === '0.jsonl' ? refuse(413) : stored()));
  const { refused, done } = statesOf(await sendAll());
  expect(done).toHaveLength(7);
  expect(refused).toMatchObject([{ path: '0.jsonl', reason: 'answer 413' }]);
});

it('a file that changed or disappeared is named as such, and cannot be sent again', async () => {
  answers.mockImplementation((path) => {
    if (path === '0.jsonl') throw new TypeError('Failed to fetch');
    return stored();
  });
  const files = choose(3);
  const unreadable = { arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')) };
  Object.assign(files[0]?.file as File, { slice: () => unreadable });
  const { refused, done } = statesOf(await sendAll(files));
  expect(done).toHaveLength(2);
  expect(refused).toMatchObject([{ reason: expect.stringContaining('Choose it again'), opened: undefined }]);
});

it('all files of a folder are sent, and what is shown changes far less often than there are files', async () => {
  const states = new Set<UploadState>();
  answers.mockImplementation(() => {
    states.add(queue.readUploads());
    return stored();
  });
  expect(statesOf(await sendAll(choose(2000))).done).toHaveLength(2000);
  expect(states.size).toBeLessThan(200);
});

it('a file that is sent again goes before those that wait', async () => {
  let refused = 0;
  answers.mockImplementation((path) => (path === '1.jsonl' && refused++ === 0 ? refuse(503) : stored()));
  expect(statesOf(await sendAll()).done).toHaveLength(8);
  expect(answers.mock.calls.flat().map((path) => Number.parseInt(path, 10))).toEqual([0, 1, 2, 3, 1, 4, 5, 6, 7]);
});

it('large members of archives are opened as fast as they are sent, and all are sent', async () => {
  vi.useRealTimers();
  answers.mockImplementation(stored);
  const data = new Uint8Array(4 * 1024 * 1024);
  const tar = createTar(Array.from({ length: 6 }, (_, index) => ({ name: `${index}.jsonl`, data })));
  await queue.addFiles([{ path: 'a.tar', file: new File([tar as BlobPart], 'a.tar') }]);
  expect(answers).toHaveBeenCalled();
  await expect.poll(() => statesOf(queue.readUploads()).done?.length).toBe(6);
});
