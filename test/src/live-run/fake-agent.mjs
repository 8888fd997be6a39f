// Stands for a coding agent. It prints a recorded stream with delays, each line in two pieces, then ends as requested.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const {
  FAKE_STREAM,
  FAKE_DELAY_MS = '0',
  FAKE_EXIT_CODE = '0',
  FAKE_STDERR = '',
  FAKE_KILLED_AFTER = '',
  FAKE_LOG = '',
  FAKE_HOLD = '',
} = process.env;
/** In this line it waits for as long as the file FAKE_HOLD is there, but no longer than any test. */
const HELD_LINE = 20;
const MAX_HELD_MS = 60_000;

const log = (text) => FAKE_LOG && appendFileSync(FAKE_LOG, `${text}\n`);
log(JSON.stringify(process.argv.slice(2)));
process.on('SIGINT', () => {
  log('SIGINT');
  process.exit(9);
});
process.on('SIGHUP', () => log('SIGHUP'));
if (FAKE_STDERR) process.stderr.write(FAKE_STDERR);
const write = (text) => new Promise((resolve) => process.stdout.write(text, resolve));
const lines = readFileSync(FAKE_STREAM, 'utf8').split(/(?<=\n)/);
for (const [index, line] of lines.entries()) {
  if (FAKE_KILLED_AFTER !== '' && index === Number(FAKE_KILLED_AFTER)) process.kill(process.pid, 'SIGKILL');
  const middle = line.length >> 1;
  await write(line.slice(0, middle));
  if (FAKE_DELAY_MS !== '0') await sleep(Number(FAKE_DELAY_MS));
  const deadlineMs = performance.now() + MAX_HELD_MS;
  while (index === HELD_LINE && existsSync(FAKE_HOLD) && performance.now() < deadlineMs) await sleep(10);
  await write(line.slice(middle));
}
process.exitCode = Number(FAKE_EXIT_CODE);
