! Waves on a string of points with the module `mpi_f08`: rows come and go without blocking, and each step is made of an outer
! part, computed when the rows are there, and an inner one. Every fourth step sums the energy.
!
!     f08 [steps]
program f08
  use mpi_f08
  use truth_notes
  implicit none
  integer, parameter :: columns = 192, rows = 128
  double precision, allocatable :: now(:, :), before(:, :), next(:, :)
  double precision :: first, last
  integer :: rank, ranks, below, above, steps, step, i
  character(len=16) :: word

  call note_call('MPI_Init'//c_null_char, __LINE__)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call note_rank(rank)
  below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  above = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  steps = 60
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) steps
  end if
  call note_call('MPI_Bcast'//c_null_char, __LINE__)
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  allocate (now(columns, 0:rows + 1), before(columns, 0:rows + 1), next(columns, 0:rows + 1))
  now = 0
  do i = 1, rows
    now(:, i) = sin(3d-2*(rank*rows + i))
  end do
  before = now
  next = 0
  first = 0
  last = 0
  call enter_loop('steps'//c_null_char, __LINE__, main_loop)
  do step = 1, steps
    call turn()
    call advance()
    if (mod(step, 4) == 0) then
      last = energy()
      if (step == 4) first = last
    end if
  end do
  call leave_loop()
  if (last > 4*first .or. last <= 0) then
    print *, 'f08: verification FAILED: ', first, last
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end if
  if (rank == 0) print '(a, i0, a)', 'f08: ', ranks, ' ranks, verification ok'
  call note_call('MPI_Finalize'//c_null_char, __LINE__)
  call MPI_Finalize()

contains

  subroutine advance()
    type(MPI_Request) :: requests(4)
    call note_call('MPI_Irecv'//c_null_char, __LINE__)
    call MPI_Irecv(now(1, 0), columns, MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, requests(1))
    call note_call('MPI_Irecv'//c_null_char, __LINE__)
    call MPI_Irecv(now(1, rows + 1), columns, MPI_DOUBLE_PRECISION, above, 2, MPI_COMM_WORLD, requests(2))
    call note_call('MPI_Isend'//c_null_char, __LINE__)
    call MPI_Isend(now(1, 1), columns, MPI_DOUBLE_PRECISION, below, 2, MPI_COMM_WORLD, requests(3))
    call note_call('MPI_Isend'//c_null_char, __LINE__)
    call MPI_Isend(now(1, rows), columns, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, requests(4))
    call leap(2, rows - 1)
    call note_call('MPI_Waitall'//c_null_char, __LINE__)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call leap(1, 1)
    call leap(rows, rows)
    before(:, 1:rows) = now(:, 1:rows)
    now(:, 1:rows) = next(:, 1:rows)
  end subroutine

  subroutine leap(from, to)
    integer, intent(in) :: from, to
    integer :: j
    do j = from, to
      next(:, j) = 2*now(:, j) - before(:, j) + 2d-1*(now(:, j - 1) - 2*now(:, j) + now(:, j + 1))
    end do
  end subroutine

  double precision function energy()
    double precision :: own
    own = sum((now(:, 1:rows) - before(:, 1:rows))**2) + sum(now(:, 1:rows)**2)
    call note_call('MPI_Allreduce'//c_null_char, __LINE__)
    call MPI_Allreduce(own, energy, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function
end program
