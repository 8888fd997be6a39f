import { useMutation } from '@tanstack/react-query';
import { Fragment, type ReactNode, useState } from 'react';
import { DialogButtons } from '../../ui/dialog-buttons.tsx';
import { Form } from '../../ui/form.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Failure } from '../../ui/states.tsx';

/** The request that a form sends: a mutation of TanStack Query. */
interface Sent<Request> {
  isPending: boolean;
  error: Error | null;
  mutate(request: Request, options?: { onSuccess: () => void }): void;
}

interface CreateFormProps<Request> {
  /** Names the folded form and its button. */
  label: string | { summary: string; button: string };
  of: Sent<Request>;
  toRequest: (form: HTMLFormElement) => Request;
  /** Shown below the button after a success. */
  note?: ReactNode;
  children: ReactNode;
}

/** A folded form that creates something. Its fields are new after each success. */
export function CreateForm<Request>({ label, of, toRequest, note, children }: CreateFormProps<Request>): ReactNode {
  const [made, count] = useState(0);
  const { summary, button } = typeof label === 'string' ? { summary: label, button: label } : label;
  const submit = (form: HTMLFormElement): void =>
    of.mutate(toRequest(form), { onSuccess: () => count((before) => before + 1) });
  return (
    <details className="panel new-key">
      <summary>{summary}</summary>
      <Form className="admin-form" submit={submit}>
        <Fragment key={made}>{children}</Fragment>
        <button type="submit" className="primary" disabled={of.isPending}>
          {button}
        </button>
        {note}
        {of.error !== null && <Failure error={of.error} />}
      </Form>
    </details>
  );
}

interface DeleteDialogProps {
  name: string;
  remove: () => Promise<unknown>;
  close: () => void;
  /** The consequences. */
  children: ReactNode;
}

/** Asks before something is deleted, and deletes it. */
export function DeleteDialog({ name, remove, close, children }: DeleteDialogProps): ReactNode {
  const deletion = useMutation({ mutationFn: remove, onSuccess: close });
  return (
    <Modal title={`Delete ${name}?`} close={close}>
      <p>{children}</p>
      <DialogButtons label="Delete it" of={deletion} act={() => deletion.mutate()} isDanger close={close} />
    </Modal>
  );
}

/** The options of a `select`, each with its value and its label. */
export const Options = ({ of }: { of: readonly (readonly [string | number, string])[] }): ReactNode =>
  of.map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
