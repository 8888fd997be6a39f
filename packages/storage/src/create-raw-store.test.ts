import { expect, test } from 'vitest';
import { createRawStore } from './create-raw-store.ts';

test.each([
  ['no location', '', 'invalid-location'],
  ['an unknown scheme', 'gs://bucket/prefix', 'invalid-location'],
  ['a file URL of another host', 'file://elsewhere/data', 'invalid-location'],
  ['no bucket', 's3://', 'invalid-location'],
  ['no bucket before the prefix', 's3:///prefix', 'invalid-location'],
  ['a query', 's3://bucket?region=x', 'invalid-location'],
  ['a prefix that leads up', 's3://bucket/a/../b', 'invalid-key'],
  ['a prefix with an empty segment', 's3://bucket/a//b', 'invalid-key'],
])('refuses %s', async (_label, location, code) => {
  await expect(createRawStore(location)).rejects.toThrow(
    expect.objectContaining({ name: 'RawStoreError', code, retryable: false }),
  );
});

test.each([
  's3://bucket',
  's3://bucket/',
  's3://bucket/prefix',
  's3://my.bucket-1/a/b/',
  'folder',
  './folder',
  '/folder',
  'file:///folder',
])('accepts %s', async (location) => {
  await (await createRawStore(location, { region: 'eu-central-1' })).close();
});
