import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

interface Service {
  image: string;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  privileged?: boolean;
  security_opt?: string[];
  pids_limit?: number;
  mem_limit?: string;
  environment?: Record<string, string | number>;
  ports?: string[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECRETS = ['POSTGRES_PASSWORD', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
const text = await readFile(join(ROOT, 'docker-compose.yml'), 'utf8');
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };

describe('docker-compose.yml', () => {
  it.each(Object.entries(services))('%s has no unnecessary rights, and resource limits', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
    });
    expect(service.cap_add ?? []).toEqual([]);
    expect(service.privileged).toBeUndefined();
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('has no password, and says what to do without one', () => {
    const values = Object.values(services).flatMap(({ environment = {} }) => Object.entries(environment));
    const secret = values.filter(([name]) => /PASSWORD|SECRET|ACCESS_KEY|DATABASE_URL/.test(name));
    expect(secret.length).toBeGreaterThanOrEqual(SECRETS.length);
    for (const [name, value] of secret) expect(value, name).toMatch(/\$\{\w+:\?run \.\/scripts\/compose-env first/);
    expect(text).not.toMatch(/\$\{\w+:-/);
    expect([...new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name))].sort()).toEqual(SECRETS);
  });
});

describe('scripts/compose-env', () => {
  it('generates new secrets for the services each time, and leaves existing ones', async () => {
    const readEnvironment = async (before: string): Promise<string[]> => {
      const folder = await mkdtemp(join(tmpdir(), 'recount-compose-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      await mkdir(join(folder, 'scripts'));
      await copyFile(join(ROOT, 'scripts/compose-env'), join(folder, 'scripts/compose-env'));
      if (before !== '') await writeFile(join(folder, '.env'), before, { mode: 0o600 });
      const run = () => promisify(execFile)('sh', [join(folder, 'scripts/compose-env')]);
      const { stdout } = await run();
      const drawn = await readFile(join(folder, '.env'), 'utf8');
      expect((await stat(join(folder, '.env'))).mode & 0o777).toBe(0o600);
      for (const line of drawn.trim().split('\n')) expect(stdout).not.toContain(line.split('=')[1]);
      await run();
      expect(await readFile(join(folder, '.env'), 'utf8')).toBe(drawn);
      return drawn.trim().split('\n');
    };
    const [first, second] = [await readEnvironment(''), await readEnvironment('')];
    expect(first.map((line) => line.split('=')[0])).toEqual(SECRETS);
    for (const line of first) expect(line).toMatch(/^\w+=[0-9a-f]{48}$/);
    expect(new Set([...first, ...second]).size).toBe(6);
    expect(await readEnvironment('POSTGRES_PASSWORD=mine')).toContain('POSTGRES_PASSWORD=mine');
  });
});
