import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The paths where Debian's package and Chrome install it. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Disables the browser's own requests to the internet. */
export const BROWSER_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser on this machine, installed by apt-get if possible; undefined, with a printed note, if there is none. */
export function findBrowser(): string | undefined {
  const found = [process.env.CHROMIUM ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    try {
      const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      execFileSync('apt-get', ['update', '-qq'], { env: environment, stdio: 'ignore' });
      execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], {
        env: environment,
        stdio: 'ignore',
      });
    } catch {
      // Reported below.
    }
  }
  const installed = PLACES.find((path) => existsSync(path));
  if (installed === undefined)
    console.warn('Skipped: there is no Chromium, and it cannot be installed (or set CHROMIUM)');
  return installed;
}
