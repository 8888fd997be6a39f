import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { LocalPostgresError } from './local-postgres-error.ts';
import { preparePostgresDirectory } from './postgres-directory.ts';

/** An account that may not enter directories closed to others. */
const account = { uid: 4_000_000, gid: 4_000_000 };

let home: string;
let system: string;
let asked: string;
beforeEach(async () => {
  // mkdtemp creates it with mode 0700.
  home = await realpath(await mkdtemp(join(tmpdir(), 'recount-choose-')));
  onTestFinished(() => rm(home, { recursive: true }));
  system = join(home, 'system');
  asked = join(home, 'data', 'postgres');
});

const prepare = (directory = asked): Promise<string> => preparePostgresDirectory(directory, account, system);

/** A first start, which leaves a cluster. */
async function install(directory = asked): Promise<string> {
  const place = await prepare(directory);
  await mkdir(join(place, 'cluster'), { recursive: true });
  return place;
}

const readNoteOf = (directory: string) => readFile(join(directory, 'where-the-data-are.txt'), 'utf8');

describe('preparePostgresDirectory', () => {
  test('keeps the requested directory if the server runs as the same user', async () => {
    expect(await preparePostgresDirectory(asked, undefined, system)).toBe(asked);
  });

  test('keeps a directory that the account can reach, whatever its own mode', async () => {
    const open = await realpath(await mkdtemp('/tmp/recount-choose-'));
    onTestFinished(() => rm(open, { recursive: true }));
    expect(await prepare(open)).toBe(open);
  });

  test('moves below the system directory if a parent is closed to the account, and finds it again', async () => {
    const place = await install();
    expect(place).toMatch(new RegExp(`^${system}/postgres-[0-9a-f]{12}$`));
    expect(await readNoteOf(asked)).toContain(`Its data are in ${place}\n`);
    expect(await prepare()).toBe(place);
  });

  test('finds it again without the note, by the path', async () => {
    const place = await install();
    await rm(join(asked, 'where-the-data-are.txt'));
    expect(await prepare()).toBe(place);
  });
});

describe('a data directory that was removed', () => {
  test('does not get its cluster back unasked, however often it is tried', async () => {
    const place = await install();
    await rm(asked, { recursive: true });
    for (let count = 0; count < 2; count += 1) {
      await expect(prepare()).rejects.toThrow(
        new RegExp(`${place} holds the database of an earlier ${asked}.*Remove ${place}`),
      );
    }
    await mkdir(asked);
    expect(await prepare()).toBe(place);
    await rm(asked, { recursive: true });
    await rm(place, { recursive: true });
    expect(await prepare()).toBe(place);
  });
});

describe('a data directory that was moved', () => {
  test('keeps its cluster, wherever it is moved to and back', async () => {
    const place = await install();
    const moved = join(home, 'elsewhere', 'postgres');
    await rename(join(home, 'data'), join(home, 'elsewhere'));
    expect(await prepare(moved)).toBe(place);
    expect(await prepare(moved)).toBe(place);
    await rename(join(home, 'elsewhere'), join(home, 'data'));
    expect(await prepare()).toBe(place);
  });

  test('keeps its cluster if the account can reach its new place', async () => {
    const place = await install();
    const open = join(await realpath(await mkdtemp('/tmp/recount-choose-')), 'postgres');
    onTestFinished(() => rm(join(open, '..'), { recursive: true }));
    await chmod(join(open, '..'), 0o755);
    await rename(asked, open);
    expect(await prepare(open)).toBe(place);
  });

  test('does not give its cluster to anyone who takes its old place', async () => {
    const place = await install();
    await rename(join(home, 'data'), join(home, 'elsewhere'));
    expect(await prepare(join(home, 'elsewhere', 'postgres'))).toBe(place);
    expect(await prepare()).not.toBe(place);
  });

  test('keeps its cluster if it is from recount 0.3, and a copy of it does not', async () => {
    const place = await install();
    await rm(join(place, 'installation.json'));
    await writeFile(join(asked, 'where-the-data-are.txt'), `PostgreSQL cannot reach this.\nIts data are in ${place}\n`);
    await cp(join(home, 'data'), join(home, 'copy'), { recursive: true });
    await rename(join(home, 'data'), join(home, 'elsewhere'));
    expect(await prepare(join(home, 'elsewhere', 'postgres'))).toBe(place);
    await expect(prepare(join(home, 'copy', 'postgres'))).rejects.toThrow('Two directories cannot share a database');
  });
});

describe('refuses', () => {
  const expectRefusal = async (directory: string, message: string | RegExp) => {
    const before = await readNoteOf(directory).catch(() => undefined);
    await expect(prepare(directory)).rejects.toThrow(message);
    await expect(prepare(directory)).rejects.toThrow(LocalPostgresError);
    expect(await readNoteOf(directory).catch(() => undefined)).toBe(before);
  };

  test('a copy of a data directory, while the original exists', async () => {
    const place = await install();
    await cp(join(home, 'data'), join(home, 'copy'), { recursive: true });
    await expectRefusal(join(home, 'copy', 'postgres'), `belongs to ${asked}`);
    expect(await prepare()).toBe(place);
    await rm(join(home, 'data'), { recursive: true });
    expect(await prepare(join(home, 'copy', 'postgres'))).toBe(place);
  });

  test('refuses if the cluster that the note points to is gone, and leaves the note', async () => {
    const place = await install();
    await rename(system, join(home, 'lost'));
    await expectRefusal(asked, new RegExp(`was in ${place}.*recount doctor --rebuild`, 's'));
    await rename(join(home, 'lost'), system);
    expect(await prepare()).toBe(place);
  });

  test('refuses to choose between a cluster in place and one that a note points to', async () => {
    await install();
    await mkdir(join(asked, 'cluster'));
    await expectRefusal(asked, 'There are two databases');
  });

  test('refuses to start an empty database if a cluster was moved out of its account’s reach', async () => {
    await mkdir(join(asked, 'cluster'), { recursive: true });
    await expectRefusal(asked, /out of reach for user 4000000.*Move it back/s);
  });
});
