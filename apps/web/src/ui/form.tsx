import type { ComponentProps, ReactNode } from 'react';
import { DialogButtons } from './dialog-buttons.tsx';
import { Modal } from './modal.tsx';

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  submit: (form: HTMLFormElement) => void;
}

/** A form that the page sends, not the browser. */
export const Form = ({ submit, ...rest }: FormProps): ReactNode => (
  <form
    {...rest}
    onSubmit={(event) => {
      event.preventDefault();
      submit(event.currentTarget);
    }}
  />
);

interface FormDialogProps extends Pick<FormProps, 'submit' | 'className' | 'children'> {
  title: string;
  /** The request that the form sends. */
  of: { isPending: boolean; error: Error | null };
  /** The label of the button that sends it. */
  label?: string;
  /** True while a field has no value that can be sent. */
  isDisabled?: boolean;
  close: () => void;
}

/** A dialog with a form. */
export const FormDialog = ({
  title,
  className = 'modal-form',
  label = 'Save',
  children,
  submit,
  close,
  ...buttons
}: FormDialogProps): ReactNode => (
  <Modal title={title} close={close}>
    <Form className={className} submit={submit}>
      {children}
      <DialogButtons label={label} close={close} {...buttons} />
    </Form>
  </Modal>
);
