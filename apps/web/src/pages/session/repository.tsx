import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';

const SHORT_COMMIT_LENGTH = 8;

/** The repository and commit that the session worked on. Only plain web addresses become links. */
export function Repository({ address, commit }: { address: string | null; commit: string | null }): ReactNode {
  return (
    <>
      {address !== null && <Address address={address} />}
      {commit !== null && (
        <span className="mono" title={`Commit at the session’s start: ${toVisible(commit)}`}>
          {toVisible(commit.slice(0, SHORT_COMMIT_LENGTH))}
        </span>
      )}
    </>
  );
}

function Address({ address }: { address: string }): ReactNode {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const name = toVisible(address.replace(/^https:\/\//i, '').replace(/\.git$/, ''));
  if (url?.protocol !== 'https:') return <span title={toVisible(address)}>{name}</span>;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer" title={toVisible(url.href)}>
      {name}
    </a>
  );
}
