! Shallow water in modules, with the module `mpi`: a grid, a halo that two fields share, a model with its time loop.
! Every eighth step is stored, which takes a reduction and a gathering.
!
!     modules [steps]
module grid
  use mpi
  implicit none
  integer, parameter :: columns = 256, rows = 96
  integer :: rank, ranks, below, above
contains
  subroutine place_ranks()
    use truth_notes
    integer :: ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call note_rank(rank)
    below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    above = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  end subroutine
end module

module halo_rows
  use mpi
  use grid
  use truth_notes
  implicit none
contains
  subroutine exchange(field)
    double precision, intent(inout) :: field(columns, 0:rows + 1)
    integer :: ierr
    call note_call('MPI_Sendrecv'//c_null_char, __LINE__)
    call MPI_Sendrecv(field(:, rows), columns, MPI_DOUBLE_PRECISION, above, 1, field(:, 0), columns, &
                      MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call note_call('MPI_Sendrecv'//c_null_char, __LINE__)
    call MPI_Sendrecv(field(:, 1), columns, MPI_DOUBLE_PRECISION, below, 2, field(:, rows + 1), columns, &
                      MPI_DOUBLE_PRECISION, above, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    if (below == MPI_PROC_NULL) field(:, 0) = field(:, 1)
    if (above == MPI_PROC_NULL) field(:, rows + 1) = field(:, rows)
  end subroutine
end module

module water
  use mpi
  use grid
  use halo_rows
  use truth_notes
  implicit none
  double precision :: height(columns, 0:rows + 1), flow(columns, 0:rows + 1)
contains
  subroutine advance(dt)
    double precision, intent(in) :: dt
    integer :: i
    call exchange(height)
    do i = 1, rows
      flow(:, i) = flow(:, i) - dt*(height(:, i + 1) - height(:, i - 1))/2
    end do
    call exchange(flow)
    do i = 1, rows
      height(:, i) = height(:, i) - dt*(flow(:, i + 1) - flow(:, i - 1))/2 + dt*dt*(height(:, i + 1) - height(:, i))/8
    end do
  end subroutine

  double precision function volume()
    double precision :: own
    integer :: ierr
    own = sum(height(:, 1:rows))
    call note_call('MPI_Allreduce'//c_null_char, __LINE__)
    call MPI_Allreduce(own, volume, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end function

  subroutine store(levels)
    double precision, intent(inout) :: levels(:)
    double precision :: mean
    integer :: ierr
    mean = volume()/(columns*rows*ranks)
    call note_call('MPI_Gather'//c_null_char, __LINE__)
    call MPI_Gather(mean, 1, MPI_DOUBLE_PRECISION, levels, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  end subroutine

  subroutine run(steps, levels)
    integer, intent(in) :: steps
    double precision, intent(inout) :: levels(:)
    integer :: step
    call enter_loop('steps'//c_null_char, __LINE__, main_loop)
    do step = 1, steps
      call turn()
      call advance(1d-1)
      if (mod(step, 8) == 0) call store(levels)
    end do
    call leave_loop()
  end subroutine
end module

program modules
  use water
  implicit none
  integer :: steps, i, ierr
  double precision :: before, after
  double precision, allocatable :: levels(:)
  character(len=16) :: word
  call note_call('MPI_Init'//c_null_char, __LINE__)
  call MPI_Init(ierr)
  call place_ranks()
  steps = 64
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) steps
  end if
  call note_call('MPI_Bcast'//c_null_char, __LINE__)
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  allocate (levels(ranks))
  flow = 0
  do i = 0, rows + 1
    height(:, i) = 1 + merge(5d-1, 0d0, rank == 0 .and. i > 20 .and. i < 40)
  end do
  before = volume()
  call run(steps, levels)
  after = volume()
  if (abs(after - before) > 2d-2*before) then
    print *, 'modules: verification FAILED: ', before, after
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end if
  if (rank == 0) print '(a, i0, a)', 'modules: ', ranks, ' ranks, verification ok'
  call note_call('MPI_Finalize'//c_null_char, __LINE__)
  call MPI_Finalize(ierr)
end program
