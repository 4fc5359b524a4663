! The phases of phases.c in Fortran: times as 2 to 1, about one second.
program phases_f
  use talea_mark
  implicit none
  type(talea_phase), save, target :: long = talea_phase("long"), short = talea_phase("short")
  integer :: round
  real(8) :: spent(2), sum

  spent = 0
  sum = 0
  do round = 1, 34
    call talea_begin(long)
    call spin(0.020d0, spent(1))
    call talea_end(long)
    call talea_begin(short)
    call spin(0.010d0, spent(2))
    call talea_end(short)
  end do
  write (*, '(a, f6.3, a, f6.3, a)') "long ", spent(1), " s, short ", spent(2), " s"

contains

  ! Works for so many seconds of processor time, and adds what they were.
  subroutine spin(seconds, spent)
    real(8), intent(in) :: seconds
    real(8), intent(inout) :: spent
    real(8) :: begin, now
    integer :: i
    call cpu_time(begin)
    now = begin
    do while (now < begin + seconds)
      do i = 1, 1000
        sum = sum + 1.0d0 / i
      end do
      call cpu_time(now)
    end do
    spent = spent + (now - begin)
    if (sum < 0) print *, sum
  end subroutine
end program
