import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createCheckedDownload } from './checked-download.ts';
import { RawStoreError } from './raw-store.ts';

const toError = (cause: unknown) => new RawStoreError('unavailable', 'mapped', { cause });
const cutShort = { name: 'RawStoreError', code: 'unavailable', retryable: true };

test('passes the bytes on', async () => {
  const source = Readable.from([Buffer.from('ab'), Buffer.from('c')], { objectMode: false });
  const download = createCheckedDownload(source, { expectedBytes: 3, toError });
  expect((await buffer(download)).toString()).toBe('abc');
});

test.each([2, 4])('fails if %i bytes were promised and 3 came', async (expectedBytes) => {
  const source = Readable.from([Buffer.from('abc')], { objectMode: false });
  await expect(buffer(createCheckedDownload(source, { expectedBytes, toError }))).rejects.toMatchObject(cutShort);
});

test('fails if the source closes without an end or an error', async () => {
  const source = new PassThrough();
  const download = createCheckedDownload(source, { expectedBytes: undefined, toError });
  source.write('abc');
  setImmediate(() => source.destroy());
  await expect(buffer(download)).rejects.toMatchObject(cutShort);
});

test("maps the source's error", async () => {
  const cause = new Error('reset');
  const source = new PassThrough();
  const download = createCheckedDownload(source, { expectedBytes: 3, toError });
  setImmediate(() => source.destroy(cause));
  await expect(buffer(download)).rejects.toMatchObject({ message: 'mapped', cause });
});

test('destroys the source when it is destroyed', async () => {
  const source = new PassThrough();
  const download = createCheckedDownload(source, { expectedBytes: 3, toError });
  download.destroy();
  await once(download, 'close');
  expect(source.destroyed).toBe(true);
});

test('an abort destroys both', async () => {
  const abort = new AbortController();
  const source = new PassThrough();
  const download = createCheckedDownload(source, { expectedBytes: 3, toError, signal: abort.signal });
  setImmediate(() => abort.abort());
  await expect(buffer(download)).rejects.toMatchObject({ name: 'AbortError' });
  expect(source.destroyed).toBe(true);
});
