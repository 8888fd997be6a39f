import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Where Debian's package and Chrome's lie. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** What the browser would otherwise ask of the internet by itself. */
export const BROWSER_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser of this machine, installed by apt-get where that is possible; undefined, and said so, where there is none. */
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
      // Said below.
    }
  }
  const installed = PLACES.find((path) => existsSync(path));
  if (installed === undefined)
    console.warn('Skipped: there is no Chromium, and it cannot be installed (or set CHROMIUM)');
  return installed;
}
