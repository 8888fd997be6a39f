import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from './find-free-port.ts';

export interface Radosgw {
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  stop(): Promise<void>;
}

const PROGRAMS = ['ceph-mon', 'ceph-mgr', 'ceph-osd', 'radosgw', 'radosgw-admin', 'monmaptool', 'ceph'];
const PACKAGES = ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-mgr'];
const INSTALL_TIMEOUT_MS = 180_000;
const START_TIMEOUT_MS = 120_000;
const MEMORY_STORE_BYTES = 2 * 1024 ** 3;
const CREDENTIALS = { accessKeyId: 'RECOUNTTEST', secretAccessKey: 'secret-of-the-recount-tests' };

/**
 * Makes sure that Ceph's programs are installed, which are the system's, or, in CI or with RECOUNT_TEST_RADOSGW=1, and
 * only for root, its Debian packages. Returns the reason if it cannot be tested against.
 */
export async function provideRadosgw(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { CI, RECOUNT_TEST_RADOSGW } = environment;
  if (RECOUNT_TEST_RADOSGW === '0') return 'RECOUNT_TEST_RADOSGW is 0';
  if (hasPrograms()) return undefined;
  if (CI !== 'true' && RECOUNT_TEST_RADOSGW !== '1') {
    return `${PACKAGES.join(', ')} are not installed; RECOUNT_TEST_RADOSGW=1 lets root install them`;
  }
  if (process.getuid?.() !== 0) return 'only root may install its Debian packages';
  const install = ['apt-get', 'install', '--yes', '--no-install-recommends', ...PACKAGES];
  try {
    await run(
      'sh',
      ['-c', `export DEBIAN_FRONTEND=noninteractive; apt-get update && ${install.join(' ')}`],
      INSTALL_TIMEOUT_MS,
    );
  } catch (error) {
    return `its Debian packages cannot be installed: ${(error as Error).message.slice(-500)}`;
  }
  return hasPrograms() ? undefined : 'its Debian packages lack programs';
}

const hasPrograms = (): boolean =>
  PROGRAMS.every((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);

/** An object gateway on a single-node cluster that keeps everything in memory, only for tests. */
export async function startRadosgw(): Promise<Radosgw> {
  try {
    return await startCluster();
  } catch (error) {
    // On a slow machine the monitor may not start in time, and occasionally one of its ports is in use.
    console.warn(`Ceph did not start, once more: ${(error as Error).message}`);
    return await startCluster();
  }
}

async function startCluster(): Promise<Radosgw> {
  const directory = await mkdtemp(join(tmpdir(), 'recount-radosgw-'));
  const [monitorPort, gatewayPort] = [await findFreePort(), await findFreePort()];
  const configPath = join(directory, 'ceph.conf');
  const clusterId = randomUUID();
  const daemons: ChildProcess[] = [];
  const killAll = (): void => {
    for (const daemon of daemons) daemon.kill('SIGKILL');
  };
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    const ends = daemons.filter(isRunning).map((daemon) => once(daemon, 'exit'));
    killAll();
    await Promise.all(ends);
    process.off('exit', killAll);
    await rm(directory, { recursive: true, force: true });
  };
  const ceph = (program: string, ...commandArguments: string[]) =>
    run(program, ['-c', configPath, ...commandArguments], START_TIMEOUT_MS);
  const startDaemon = (program: string, ...commandArguments: string[]): void => {
    daemons.push(spawn(program, ['-c', configPath, '-f', ...commandArguments], { stdio: 'ignore' }));
  };
  try {
    const folders = ['mon', 'mgr', 'osd', 'no-modules'].map((name) => join(directory, name));
    for (const folder of folders) await mkdir(folder);
    await writeFile(configPath, toConfig(directory, clusterId, monitorPort));
    const map = join(directory, 'monmap');
    const address = `[v2:127.0.0.1:${monitorPort}]`;
    await run('monmaptool', ['--create', '--addv', 'a', address, '--fsid', clusterId, map], START_TIMEOUT_MS);
    await ceph('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map);
    startDaemon('ceph-mon', '-i', 'a');
    startDaemon('ceph-mgr', '-i', 'a');
    const storeId = randomUUID();
    await ceph('ceph', '--connect-timeout', '40', 'osd', 'new', storeId);
    await ceph('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', storeId);
    startDaemon('ceph-osd', '-i', '0');
    const { accessKeyId, secretAccessKey } = CREDENTIALS;
    const keys = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
    await ceph('radosgw-admin', 'user', 'create', '--uid', 'recount', '--display-name', 'recount', ...keys);
    startDaemon('radosgw', '-n', 'client.rgw', '--rgw-frontends', `beast endpoint=127.0.0.1:${gatewayPort}`);
    const endpoint = `http://127.0.0.1:${gatewayPort}`;
    await waitUntilItAnswers(endpoint, daemons);
    return { endpoint, region: 'us-east-1', credentials: CREDENTIALS, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function toConfig(directory: string, clusterId: string, monitorPort: number): string {
  const settings = {
    fsid: clusterId,
    mon_host: `v2:127.0.0.1:${monitorPort}`,
    public_addr: '127.0.0.1',
    cluster_addr: '127.0.0.1',
    // On loopback, for the minutes of a test. Only the gateway authenticates clients.
    auth_cluster_required: 'none',
    auth_service_required: 'none',
    auth_client_required: 'none',
    // The gateway's default is `secure`, which requires authentication.
    ms_mon_client_mode: 'crc',
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 1,
    osd_pool_default_pg_autoscale_mode: 'off',
    osd_crush_chooseleaf_type: 0,
    mon_allow_pool_size_one: 'true',
    osd_objectstore: 'memstore',
    memstore_device_bytes: MEMORY_STORE_BYTES,
    // Its modules are slow to load, and none is needed.
    mgr_module_path: join(directory, 'no-modules'),
    mon_data: join(directory, 'mon'),
    mgr_data: join(directory, 'mgr'),
    osd_data: join(directory, 'osd'),
    run_dir: directory,
    crash_dir: directory,
    keyring: join(directory, 'keyring'),
    admin_socket: join(directory, '$name.asok'),
    log_file: join(directory, '$name.log'),
    // However full the disk is.
    mon_data_avail_crit: 0,
    mon_data_avail_warn: 0,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return ['[global]', ...lines, ''].join('\n');
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

async function waitUntilItAnswers(endpoint: string, daemons: readonly ChildProcess[]): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(endpoint).catch(() => undefined);
    if (answer?.ok) return;
    if (!daemons.every(isRunning)) throw new Error('A daemon of Ceph ended while it started');
    if (performance.now() > deadlineMs) throw new Error(`radosgw does not answer within ${START_TIMEOUT_MS} ms`);
    await sleep(100);
  }
}

async function run(program: string, commandArguments: readonly string[], timeoutMs: number): Promise<void> {
  await promisify(execFile)(program, commandArguments, { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 });
}
