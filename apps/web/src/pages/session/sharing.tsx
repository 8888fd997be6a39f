import type { Share } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { formatCounted, TIME_ZONE } from '../../format/values.ts';
import { type Body, send, toUrl } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Time } from '../../ui/figures.tsx';
import { Form } from '../../ui/form.tsx';
import { LifetimeChoice } from '../../ui/lifetime-choice.tsx';
import { Modal } from '../../ui/modal.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Failure } from '../../ui/states.tsx';

const LINKS_INTERVAL_MS = 3000;

/** Creates links to a session, lists the active ones, and revokes them. */
export function Sharing({ sessionId, close }: { sessionId: string; close: () => void }): ReactNode {
  const parameters = { session_id: sessionId };
  const share = useMutation({
    mutationFn: (body: Body<'/v1/sessions/{session_id}/share', 'post'>) =>
      send('post', '/v1/sessions/{session_id}/share', { parameters, body }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/shares'] }),
  });
  const [isSanitized, setSanitized] = useState(false);
  const submit = (form: HTMLFormElement): void => {
    const days = Number(new FormData(form).get('days'));
    share.mutate({ expires_in_days: days, sanitize: isSanitized, time_zone: TIME_ZONE });
  };
  if (share.data !== undefined) {
    const redactionCount = Object.values(share.data.redactions).reduce((sum, count) => sum + count, 0);
    return (
      <Modal title="The link is shown only once" close={close}>
        <p>
          Anyone with the link can read the session without a key until <Time iso={share.data.expires_at} />.{' '}
          {formatCounted(redactionCount, 'secret')} found and taken out.
        </p>
        <ShownOnce text={new URL(share.data.path, location.href).href} close={close} />
      </Modal>
    );
  }
  const preview = toUrl('/v1/sessions/{session_id}/document', parameters, {
    sanitize: isSanitized,
    time_zone: TIME_ZONE,
  });
  return (
    <Modal title="Share this session by a link" close={close}>
      <p>
        Anyone with the link can read the session and its sub-agents as they are now, without a key. Detected secrets
        are redacted. <a href={preview}>Preview the page</a> before sharing.
      </p>
      <Form className="modal-form" submit={submit}>
        <LifetimeChoice />
        <label className="row">
          <input type="checkbox" checked={isSanitized} onChange={({ target }) => setSanitized(target.checked)} />
          Hide content (structure only)
        </label>
        <DialogButtons label={share.isPending ? 'Creating the link …' : 'Create link'} of={share} close={close} />
      </Form>
      <Links sessionId={sessionId} />
    </Modal>
  );
}

const hasEnded = ({ revoked_at, expires_at }: Share): boolean =>
  revoked_at !== null || Date.parse(expires_at) <= Date.now();

/** The latest active links to the session. */
function Links({ sessionId }: { sessionId: string }): ReactNode {
  const list = useAnswer('/v1/shares', { session_id: sessionId }, { refetchIntervalMs: LINKS_INTERVAL_MS });
  const revoke = useMutation({
    mutationFn: (id: string) => send('delete', '/v1/shares/{share_id}', { parameters: { share_id: id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['/v1/shares'] }),
  });
  const links = list.data?.shares.filter((share) => !hasEnded(share)) ?? [];
  const error = list.error ?? revoke.error;
  return (
    <>
      {links.length > 0 && (
        <ul className="shares" aria-label="Links to this session">
          {links.map(({ id, created_at, expires_at, opened_count, is_sanitized }) => (
            <li key={id} className="between">
              <span>
                Made <Time iso={created_at} />, ends <Time iso={expires_at} />, opened{' '}
                {formatCounted(opened_count, 'time')}
                {is_sanitized && ', structure alone'}
              </span>
              <button type="button" className="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(id)}>
                Revoke
              </button>
            </li>
          ))}
        </ul>
      )}
      {error !== null && <Failure error={error} />}
    </>
  );
}
