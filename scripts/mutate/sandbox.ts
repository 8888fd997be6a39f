import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * A copy of the working tree where files may be changed. A killed run leaves nothing changed behind. Packages find one
 * another in it, because their links are relative; installed dependencies are shared with the original.
 */
export async function createSandbox(root: string): Promise<string> {
  const sandbox = await mkdtemp(join(tmpdir(), 'recount-mutate-'));
  const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = stdout.split('\0').filter((file) => file !== '');
  for (const file of files) {
    await mkdir(join(sandbox, dirname(file)), { recursive: true });
    await cp(join(root, file), join(sandbox, file)).catch(ignoreDeleted);
  }
  await symlink(join(root, 'node_modules'), join(sandbox, 'node_modules'));
  const packages = new Set(files.flatMap((file) => /^(.+)\/package\.json$/.exec(file)?.[1] ?? []));
  for (const folder of packages) {
    await cp(join(root, folder, 'node_modules'), join(sandbox, folder, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
    }).catch(ignoreDeleted);
  }
  return sandbox;
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
