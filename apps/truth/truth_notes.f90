! The functions of truth.h for Fortran. Names end with c_null_char; lines are those of the source (__LINE__ with -cpp).
module truth_notes
  use iso_c_binding, only: c_char, c_int, c_null_char
  implicit none
  integer(c_int), parameter :: plain_loop = 0, main_loop = 1, by_arguments = 2

  interface
    subroutine note_call(procedure, line) bind(c, name='truth_call')
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: procedure(*)
      integer(c_int), value :: line
    end subroutine
    subroutine enter_loop(name, line, flags) bind(c, name='truth_enter')
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: line, flags
    end subroutine
    subroutine turn() bind(c, name='truth_turn')
    end subroutine
    subroutine leave_loop() bind(c, name='truth_leave')
    end subroutine
    subroutine note_rank(rank) bind(c, name='truth_rank')
      import :: c_int
      integer(c_int), value :: rank
    end subroutine
  end interface
end module
